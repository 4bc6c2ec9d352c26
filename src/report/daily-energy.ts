import type { DuckDBBlobValue, DuckDBConnection } from '@duckdb/node-api';
import { StreamError } from '../contract/errors.ts';
import { addDays, type LocalDate } from '../time.ts';
import { queryText, type SqlParameters } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import type { Generation, LakeReader } from './lake.ts';
import type { TotalSources } from './total-sources.ts';

/** Which part of the daily energy is asked for, by somebody who may see it. */
export interface DailyEnergyQuery {
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  bySource: boolean;
  /** The only devices to answer with, sorted; undefined for all. */
  devices: readonly string[] | undefined;
}

/** One answer holds at most this many values (some 250 MB). */
const VALUES_MAX = 5_000_000;

/** The files of a generation that can hold days of the range: one a month. */
export function filesOfRange(generation: Generation, { startDay, endDay }: DailyEnergyQuery) {
  return generation
    .files('daily_energy')
    .filter(({ period }) => period >= startDay.slice(0, 7) && period <= endDay.slice(0, 7));
}

/**
 * The daily energy report as JSON text: a key for each day of the range, in order, even where it is empty; series
 * sorted by key; Wh as integers.
 * @returns the text as UTF-8, in parts: joined they could take another 250 MB
 * @throws StreamError InvalidRequest when it would be too large
 */
export async function dailyEnergyJson(
  lake: LakeReader,
  generation: Generation | undefined,
  query: DailyEnergyQuery,
  totals: TotalSources,
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  const files = generation ? filesOfRange(generation, query) : [];
  if (!generation || files.length === 0 || query.devices?.length === 0) return assemble(query, new Map());
  const { startDay, endDay, devices } = query;
  const parameters: SqlParameters = {
    files: files.map(generation.path),
    start_day: startDay,
    end_day: endDay,
    ...(devices && { devices }),
  };
  const chosen = `WITH chosen AS (\n${loadSql(devices ? 'report/days-of-devices' : 'report/days')})\n`;
  const rowsMost = files.reduce((sum, { rows }) => sum + rows, 0);
  const days = await lake.run(async (connection) => {
    if (rowsMost > VALUES_MAX) await refuseTooMany(connection, chosen, parameters);
    if (query.bySource) return readDays(connection, chosen + loadSql('report/by-source'), parameters);
    if (totals.size === 0) return readDays(connection, chosen + loadSql('report/by-device'), parameters);
    return readDays(connection, chosen + loadSql('report/by-device-with-totals'), {
      ...parameters,
      total_devices: [...totals.keys()],
      total_sources: [...totals.values()],
    });
  }, signal);
  return assemble(query, days);
}

async function refuseTooMany(
  connection: DuckDBConnection,
  chosen: string,
  parameters: SqlParameters,
): Promise<void> {
  const [found] = await queryText<{ value_count: number }>(
    connection,
    chosen + loadSql('report/count'),
    parameters,
  );
  const count = found!.value_count;
  if (count > VALUES_MAX)
    throw new StreamError(
      'InvalidRequest',
      `the answer would hold ${count} values and ${VALUES_MAX} are the most; ask for fewer days or devices`,
    );
}

/** The members of each day's object, as UTF-8. */
async function readDays(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters,
): Promise<Map<LocalDate, Uint8Array>> {
  const found = await queryText<{ day: LocalDate; members: DuckDBBlobValue }>(connection, sql, parameters);
  return new Map(found.map(({ day, members }) => [day, members.bytes]));
}

function assemble(
  { startDay, endDay }: DailyEnergyQuery,
  days: ReadonlyMap<LocalDate, Uint8Array>,
): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let before = '{';
  for (let day = startDay; day <= endDay; day = addDays(day, 1)) {
    const members = days.get(day);
    before += `"${day}":{`;
    if (members) {
      parts.push(Buffer.from(before), members);
      before = '';
    }
    before += day === endDay ? '}}' : '},';
  }
  parts.push(Buffer.from(before));
  return parts;
}
