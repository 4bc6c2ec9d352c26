import type { DuckDBConnection } from '@duckdb/node-api';
import { noSplits, splitSql } from '../balance/device-day-sql.ts';
import { addDays } from '../lib/time.ts';
import { withConstants } from '../rollup/rule-macros.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryText } from '../warehouse/query.ts';
import { describeDevice, type SourceFacts } from './describe-device.ts';
import type { Day } from './explained-day.ts';
import type { ExplainedDevice } from './explained-schema.ts';

/**
 * Computes the energy of a device on a day with the statements of the report, from the stored days and the
 * declarations (see `declareDevices`).
 * @returns null if no source of it is known
 */
export async function explainDevice(
  connection: DuckDBConnection,
  { device, day }: { device: string; day: Day },
): Promise<ExplainedDevice | null> {
  const key = { device, day: day.day };
  await createTable(connection, 'chosen', selectOfDevice('publish/select_daily_energy'), {
    device,
    start_day: day.day,
    end_day: addDays(day.day, 1),
  });
  const rows = await query<SourceRow>(connection, 'explain/find_device_sources', key);
  if (rows.length === 0) return null;
  await createTable(connection, 'role_day', loadSql('balance/find_role_days'), {});
  const splits = await readSplits(connection, rows, key, day);
  await createTable(connection, 'source_day', loadSql('report/select_source_day'), {});
  await createTable(connection, 'device_day', loadSql('balance/sum_device_day'), {});
  const [total] = await query<{ energy_wh: number | null; flags: { items: string[] } }>(
    connection,
    'explain/find_device_day',
  );
  const facts = rows.map(
    (row): SourceFacts => ({
      source: row.source,
      role: row.role,
      negativeRole: row.negative_role,
      counts: row.counts,
      part: row.part,
      isListed: row.is_listed,
      container: row.container,
      lacksRole: row.role === null && row.is_listed && (!row.lacks_with_energy || row.energy_wh !== null),
      hasEnergy: row.energy_wh !== null,
      energyWh: row.part === 'whole' ? row.energy_wh : (splits.get(row.source)?.[row.part] ?? null),
    }),
  );
  const { total_source, energy_role } = rows[0]!;
  return describeDevice(facts, {
    totalSource: total_source,
    energyRole: energy_role,
    energyWh: total?.energy_wh ?? null,
    flags: total?.flags.items ?? [],
  });
}

type SourceRow = {
  source: string;
  role: string | null;
  negative_role: string | null;
  counts: boolean;
  part: SourceFacts['part'];
  lacks_with_energy: boolean;
  total_source: string | null;
  energy_role: string | null;
  is_listed: boolean;
  container: string | null;
  energy_wh: number | null;
};

/** The rise and fall of net registers, by source. Only read if the device counts one of the two. */
async function readSplits(
  connection: DuckDBConnection,
  rows: readonly SourceRow[],
  { device, day }: { device: string; day: string },
  { startMs, endMs }: Day,
): Promise<Map<string, { rise: number | null; fall: number | null }>> {
  if (!rows.some(({ counts, part }) => counts && part !== 'whole')) {
    await createTable(connection, 'rise_fall', noSplits, {});
    return new Map();
  }
  const bounds = { start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
  await createTable(connection, 'reported_interval', selectOfDevice('publish/select_interval_energy'), {
    device,
    ...bounds,
  });
  await createTable(connection, 'reported_series', selectOfDevice('publish/select_series'), { device });
  const splits = splitSql({
    wanted: loadSql('report/select_split_days'),
    own_day: 'SELECT $day::DATE AS day, $start_ms::BIGINT AS start_ms, $end_ms::BIGINT AS end_ms',
    daily_energy: 'FROM chosen',
    interval_energy: 'FROM reported_interval',
    series: 'FROM reported_series',
  });
  await createTable(connection, 'rise_fall', splits, { day, ...bounds });
  const splitRows = await query<{ source: string; rise_wh: number | null; fall_wh: number | null }>(
    connection,
    'explain/find_splits',
  );
  return new Map(splitRows.map(({ source, rise_wh, fall_wh }) => [source, { rise: rise_wh, fall: fall_wh }]));
}

function selectOfDevice(name: string): string {
  return `SELECT * FROM (${withConstants(loadSql(name))}) WHERE device = $device::UUID`;
}

async function createTable(
  connection: DuckDBConnection,
  name: string,
  select: string,
  parameters: Record<string, string | bigint>,
): Promise<void> {
  await queryText(connection, `CREATE OR REPLACE TEMP TABLE ${name} AS\n${select}`, parameters);
}
