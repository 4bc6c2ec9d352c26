import type { DuckDBConnection } from '@duckdb/node-api';
import { z } from 'zod';
import { dayBounds, formatInstant } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { type CorrectionQuery, correctionKinds } from './correction-request.ts';

/** The maximum number of days that are listed for each correction, here and in the lake. */
export const DAYS_LISTED_MAX = 100;

const wh = z.number().int().nullable();
const dayEffectSchema = z
  .object({
    day: z.string(),
    device: z.string(),
    source: z.string(),
    beforeWh: wh.meta({ description: 'Energy before, Wh; null if there was none' }),
    afterWh: wh.meta({ description: 'Energy after, Wh; null if there was none' }),
  })
  .meta({ description: 'A day that the correction changed when it was made' });

/** The JSON of a correction. Instants are ISO 8601 in UTC, energy is Wh. */
export const listedCorrectionSchema = z.object({
  id: z.number().int(),
  kind: z.enum(correctionKinds),
  device: z.string(),
  source: z.string(),
  table: z
    .string()
    .nullable()
    .meta({ description: 'Only readings of this table are excluded; null: of all tables' }),
  field: z
    .string()
    .nullable()
    .meta({ description: 'Only readings of this field are excluded; null: of all fields' }),
  day: z.string().nullable().meta({ description: 'The local day, if one was named' }),
  timezone: z.string().nullable().meta({ description: 'The zone of that day' }),
  from: z.iso.datetime(),
  to: z.iso.datetime().meta({ description: 'Not included' }),
  energyWh: wh.meta({
    description: 'Energy that was set or estimated in all, Wh; null if readings are excluded',
  }),
  basis: z
    .discriminatedUnion('from', [
      z.object({
        from: z.literal('comparable_days'),
        days: z.record(z.string(), z.array(z.string())).meta({
          description: 'The days of the medians, by the filled day',
        }),
      }),
      z.object({
        from: z.literal('other_source'),
        device: z.string(),
        source: z.string(),
        ratio: z.number().meta({ description: 'Median of own energy by that of the other source' }),
        days: z.number().int().meta({ description: 'Number of days of the ratio' }),
      }),
    ])
    .nullable()
    .meta({
      description: 'Basis of an estimate; also null for a device that the token cannot see',
    }),
  undoes: z.number().int().nullable(),
  undoneBy: z.number().int().nullable().meta({ description: 'null while it is in force' }),
  reason: z.string(),
  author: z.string(),
  at: z.iso.datetime().meta({ description: 'When it was made' }),
  days: z.array(dayEffectSchema).meta({ description: `The first ${DAYS_LISTED_MAX} days that it changed` }),
  dayCount: z.number().int().meta({ description: 'Number of days that it changed' }),
});
export type ListedCorrection = z.output<typeof listedCorrectionSchema>;

type Row = {
  correction_id: number;
  kind: ListedCorrection['kind'];
  device: string;
  source: string;
  table_name: string | null;
  field: string | null;
  day: string | null;
  timezone: string | null;
  from_ms: number;
  to_ms: number;
  energy_wh: number | null;
  basis: string | null;
  undoes: number | null;
  reason: string;
  author: string;
  created_at_ms: number;
  undone_by: number | null;
  days_json: string | null;
  day_count: number;
};

/** Corrections, newest first. @param timezone of the requested day */
export async function listCorrections(
  connection: DuckDBConnection,
  { devices, source, day, inForce = false, before, limit }: CorrectionQuery,
  timezone: string,
): Promise<ListedCorrection[]> {
  const bounds = day === undefined ? undefined : dayBounds(day, day, timezone)[0]!;
  return read(connection, {
    devices: devices === undefined ? null : JSON.stringify(devices),
    source: source ?? null,
    day_start_ms: bounds ? BigInt(bounds.startMs) : null,
    day_end_ms: bounds ? BigInt(bounds.endMs) : null,
    before: before === undefined ? null : BigInt(before),
    in_force: inForce,
    rows_max: BigInt(limit),
  });
}

/** A stored correction. */
export async function readCorrection(connection: DuckDBConnection, id: number): Promise<ListedCorrection> {
  const [found] = await read(connection, { correction_id: BigInt(id) });
  return found!;
}

async function read(
  connection: DuckDBConnection,
  asked: Parameters<typeof query>[2],
): Promise<ListedCorrection[]> {
  const rows = await query<Row>(connection, 'correction/list_corrections', {
    devices: null,
    source: null,
    day_start_ms: null,
    day_end_ms: null,
    before: null,
    correction_id: null,
    in_force: false,
    rows_max: 1n,
    days_max: DAYS_LISTED_MAX,
    ...asked,
  });
  return rows.map((row) => ({
    id: row.correction_id,
    kind: row.kind,
    device: row.device,
    source: row.source,
    table: row.table_name,
    field: row.field,
    day: row.day,
    timezone: row.timezone,
    from: formatInstant(row.from_ms),
    to: formatInstant(row.to_ms),
    energyWh: row.energy_wh,
    basis: row.basis === null ? null : JSON.parse(row.basis),
    undoes: row.undoes,
    undoneBy: row.undone_by,
    reason: row.reason,
    author: row.author,
    at: formatInstant(row.created_at_ms),
    days: row.days_json === null ? [] : JSON.parse(row.days_json),
    dayCount: row.day_count,
  }));
}
