import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { type LocalDate, localDateOf } from '../lib/time.ts';
import { IMPORT_BATCHES_MAX } from '../warehouse/import-batches.ts';
import { query } from '../warehouse/query.ts';
import { type FieldUse, listFieldUses } from './field-uses.ts';

/** The effect of imports: the fields that are read as energy, and the energy of the devices. */
export interface ImportSummary {
  /** The table that they were imported into. */
  table: string;
  fields: FieldSummary[];
  /** Days in the workgroup's zone, both included. Null if the rows are no longer known. */
  firstDay: LocalDate | null;
  lastDay: LocalDate | null;
  devices: number;
  /** Sorted by month and source. */
  months: MonthEnergy[];
}

export interface FieldSummary {
  field: string;
  /** Null if the warehouse no longer has the rows. */
  values: number | null;
  streams: Array<FieldUse & { taken: number }>;
  /** Rejected readings by reason. */
  rejected: Record<string, number>;
}

/** The energy of a source on the days of the imports, over all their devices. */
export interface MonthEnergy {
  /** YYYY-MM, in the workgroup's zone. */
  month: string;
  source: string;
  energyWh: number;
  devices: number;
  days: number;
}

/**
 * Summarizes imports that have been rolled up, from the warehouse. Reads their messages, readings, and the
 * days of their devices: some seconds for ten million rows.
 * @param asked imports of one table
 */
export async function summarizeImports(
  connection: DuckDBConnection,
  { importIds, table }: { importIds: readonly number[]; table: string },
  { energyStreams, timezone }: Pick<WorkgroupConfig, 'energyStreams' | 'timezone'>,
): Promise<ImportSummary> {
  const rows = await query<{ batch_id: number }>(connection, 'import/find_batches', {
    import_ids: importIds.map(BigInt),
    batches_max: IMPORT_BATCHES_MAX,
  });
  const of = { batches: rows.map(({ batch_id }) => BigInt(batch_id)) };
  const values = await query<ValuesRow>(connection, 'import/count_fields', of);
  const taken = await query<TakenRow>(connection, 'import/count_readings', of);
  const rejected = await query<RejectedRow>(connection, 'import/count_rejected', {
    ...of,
    batches_max: IMPORT_BATCHES_MAX,
  });
  const [range] = await query<RangeRow>(connection, 'import/find_range', of);
  const { first_ms: firstMs, last_ms: lastMs, devices } = range!;
  const [firstDay, lastDay] = [firstMs, lastMs].map((ms) => (ms === null ? null : localDateOf(ms, timezone)));
  return {
    table,
    fields: summarizeFields(listFieldUses(table, energyStreams), { values, taken, rejected }),
    firstDay: firstDay ?? null,
    lastDay: lastDay ?? null,
    devices,
    months: firstDay && lastDay ? await readMonths(connection, of.batches, { firstDay, lastDay }) : [],
  };
}

/** The fields of imports: what reads them, and what became of their values. */
export function summarizeFields(
  uses: ReturnType<typeof listFieldUses>,
  { values, taken, rejected }: { values: ValuesRow[]; taken: TakenRow[]; rejected: RejectedRow[] },
): FieldSummary[] {
  const takenBy = new Map(taken.map(({ position, readings }) => [position, readings]));
  const counted = new Map(values.map(({ field, value_count }) => [field, value_count]));
  const read = [...uses.keys()].filter((field) =>
    uses.get(field)!.some(({ position }) => takenBy.has(position)),
  );
  // If the messages are deleted, only fields with readings are known.
  const names = values.length > 0 ? [...counted.keys()] : read;
  return names.map((field) => ({
    field,
    values: counted.get(field) ?? null,
    streams: (uses.get(field) ?? []).map((use) => ({
      ...use,
      taken: use.isUnit ? 0 : (takenBy.get(use.position) ?? 0),
    })),
    rejected: Object.fromEntries(
      rejected.filter((one) => one.field === field).map(({ reason, readings }) => [reason, readings]),
    ),
  }));
}

type ValuesRow = { field: string; value_count: number };
type TakenRow = { position: number; readings: number };
type RejectedRow = { field: string; reason: string; readings: number };
type RangeRow = { first_ms: number | null; last_ms: number | null; devices: number };
type MonthRow = { month: string; source: string; energy_wh: number; devices: number; days: number };

async function readMonths(
  connection: DuckDBConnection,
  batches: readonly bigint[],
  { firstDay, lastDay }: { firstDay: LocalDate; lastDay: LocalDate },
): Promise<MonthEnergy[]> {
  const rows = await query<MonthRow>(connection, 'import/sum_energy', {
    batches,
    first_day: firstDay,
    last_day: lastDay,
  });
  return rows.map(({ month, source, energy_wh, devices, days }) => ({
    month,
    source,
    energyWh: energy_wh,
    devices,
    days,
  }));
}
