import type { DuckDBBlobValue, DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { commonTable } from '../balance/balance-sql.ts';
import { noDeviceSources, noSplits, splitSql } from '../balance/device-day-sql.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { dayBounds, daysFrom, type LocalDate } from '../lib/time.ts';
import type { LakeFile } from '../publish/commit-schema.ts';
import { periodBounds } from '../publish/lake-period.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../warehouse/query.ts';
import { fromParquet } from './lake/from-parquet.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';

/** A request for energy, limited to the devices that the caller can see. */
export interface DayQuery {
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  /** The time zone of the days: the zone of the workgroup. */
  zone: string;
  /** The days of the answer, if they are days of another zone. The days above contain them. */
  shown?: ShownDays;
  bySource: boolean;
  /** Only this number of series with most energy, and the sum of the others; undefined: all. */
  top?: number;
  /** True if some net registers have two roles. A device can then count one part of such a register. */
  splits: boolean;
  /** Only these devices, sorted; undefined: all. */
  devices: readonly string[] | undefined;
}

/** Days of any zone. */
export interface ShownDays {
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  zone: string;
}

/** The days of the answer. */
export function shownDays(query: DayQuery): ShownDays {
  return query.shown ?? query;
}

/**
 * An answer: a JSON object with a member for each day of a range, each with a member for each series with
 * energy.
 */
export interface DayReport {
  /** The files of a generation that the answer reads, by the parameter of the statements. */
  files(generation: Generation, query: DayQuery): { files: LakeFile[] } & Record<string, LakeFile[]>;
  /**
   * The statement over the tables of `chooseDays`. It makes a row for each period (a day, or as `periods`
   * says) with the members of the series in this period.
   */
  select(query: DayQuery): string;
  parameters?(query: DayQuery): SqlParameters;
  /** The text before and after the members of a day's series. */
  brackets(query: DayQuery): (day: LocalDate) => { before: string; after: string };
  /** The keys of the answer, in order. Default: the days of the range. */
  periods?(query: DayQuery): string[];
  /** The maximum number of series days of one answer. */
  seriesMax: number;
}

/** The files of a generation with days of the range: one for each month. */
export function filesOfDays(generation: Generation, { startDay, endDay }: DayQuery): LakeFile[] {
  return generation
    .files('daily_energy')
    .filter(({ period }) => period >= startDay.slice(0, 7) && period <= endDay.slice(0, 7));
}

/** The files that say which sources count for devices; none if the answer is by source. */
export function sourceFiles(generation: Generation, query: DayQuery): LakeFile[] {
  return Object.values(deviceFiles(generation, query)).flat();
}

interface DeviceFiles {
  device_sources: LakeFile[];
  /** Files for devices that count parts of net registers. */
  split_intervals: LakeFile[];
  split_series: LakeFile[];
}

/** What the energy of devices depends on. */
type DeviceQuery = Pick<DayQuery, 'startDay' | 'endDay' | 'zone' | 'bySource' | 'splits'>;

function deviceFiles(generation: Generation, query: DeviceQuery): DeviceFiles {
  const device_sources = query.bySource ? [] : generation.files('device_source');
  const split_intervals =
    query.splits && device_sources.length > 0 ? filesOfIntervals(generation, query) : [];
  return {
    device_sources,
    split_intervals,
    split_series: split_intervals.length > 0 ? generation.files('series') : [],
  };
}

/** A file has the intervals of a UTC day or month. */
export function filesOfIntervals(
  generation: Generation,
  { startDay, endDay, zone }: Pick<DayQuery, 'startDay' | 'endDay' | 'zone'>,
): LakeFile[] {
  const days = dayBounds(startDay, endDay, zone);
  const { startMs } = days[0]!;
  const { endMs } = days.at(-1)!;
  return generation.files('interval_energy').filter(({ period }) => {
    const file = periodBounds(period);
    return file.startMs < endMs && file.endMs > startMs;
  });
}

/** JSON text in parts, and the number of values with flags that are not in the text. */
export interface ReportText {
  parts: Uint8Array[];
  /** Counts by flag. */
  flags: Record<string, number>;
}

/**
 * A report as JSON text: a key for each day of the range, in order, also for empty days; series sorted by
 * key.
 * @returns the text as UTF-8, in parts. One joined text could take another 250 MB
 * @throws StreamError InvalidRequest if it would be too large
 */
export async function dayReportJson(
  report: DayReport,
  lake: LakeReader,
  generation: Generation | undefined,
  query: DayQuery,
  signal?: AbortSignal,
): Promise<ReportText> {
  const brackets = report.brackets(query);
  const periods = report.periods?.(query);
  const lists = generation ? report.files(generation, query) : { files: [] };
  if (!generation || Object.values(lists).some((files) => files.length === 0) || query.devices?.length === 0)
    return { parts: assemble(shownDays(query), brackets, new Map(), periods), flags: {} };
  const chosen = chooseDays(query, generation);
  const files = [...Object.values(lists).flat(), ...chosen.files];
  const { members, flags } = await lake.run(
    { generation, files },
    async (connection) => {
      await refuseTooMany(connection, report, query, generation);
      return readPeriodMembers(connection, chosen.sql + report.select(query), {
        ...pathParameters(generation, lists),
        ...chosen.parameters,
        ...report.parameters?.(query),
      });
    },
    signal,
  );
  return { parts: assemble(shownDays(query), brackets, members, periods), flags };
}

interface Chosen {
  /** The files of these parameters. */
  files: LakeFile[];
  sql: string;
  parameters: SqlParameters;
}

/**
 * Makes the tables that the following statements read. "chosen" has the days of the range, and "counted" has
 * the days that count in the requested answer. If sources are added up, "device_day" has the energy by
 * device.
 */
export function chooseDays(query: DayQuery, generation: Generation): Chosen {
  const { startDay, endDay, devices, bySource } = query;
  const energy = bySource
    ? { tables: [commonTable('counted', "SELECT *, 'whole' AS part FROM chosen")], files: [], parameters: {} }
    : sumDevices(query, generation);
  const chosen = chosenTable(devices && 'SELECT unnest($devices::UUID[])');
  return {
    files: energy.files,
    sql: `WITH ${[chosen, ...energy.tables].join(',\n')}\n`,
    parameters: {
      start_day: startDay,
      end_day: endDay,
      ...(devices && { devices }),
      ...energy.parameters,
    },
  };
}

/** The days of the range as "chosen". @param devices a query of the only devices; undefined: all */
export function chosenTable(devices?: string): string {
  const days = loadSql('report/select_days');
  return commonTable('chosen', devices ? `SELECT * FROM (${days}) WHERE device IN (${devices})` : days);
}

interface Tables extends Pick<Chosen, 'files' | 'parameters'> {
  tables: string[];
}

/** The energy of devices as "device_day", from the days of "chosen". */
export function sumDevices(query: DeviceQuery, generation: Generation): Tables {
  const lists = deviceFiles(generation, query);
  const hasSplits = lists.split_intervals.length > 0;
  return {
    tables: [
      deviceSourceTable(lists.device_sources),
      commonTable('role_day', loadSql('balance/find_role_days')),
      commonTable('counted', loadSql('report/select_counted')),
      commonTable('rise_fall', hasSplits ? splitDays() : noSplits),
      commonTable('source_day', loadSql('report/select_source_day')),
      commonTable('device_day', loadSql('balance/sum_device_day')),
    ],
    files: Object.values(lists).flat(),
    parameters: {
      ...pathParameters(generation, { ...lists }),
      ...(hasSplits && boundsParameters(query, 'own_')),
    },
  };
}

/** "device_source", from the files of parameter $device_sources. */
export function deviceSourceTable(files: readonly LakeFile[]): string {
  return commonTable('device_source', files.length > 0 ? fromParquet('device_sources') : noDeviceSources);
}

function splitDays(): string {
  return splitSql({
    wanted: loadSql('report/select_split_days'),
    own_day: loadSql('report/select_own_days'),
    daily_energy: fromParquet('files'),
    interval_energy: fromParquet('split_intervals'),
    series: fromParquet('split_series'),
  });
}

/** The paths of files as parameters. A list without files has no parameter, because no statement reads it. */
export function pathParameters(
  generation: Generation,
  lists: Readonly<Record<string, readonly LakeFile[]>>,
): SqlParameters {
  const read = Object.entries(lists).filter(([, files]) => files.length > 0);
  return Object.fromEntries(read.map(([name, files]) => [name, files.map(generation.path)]));
}

/** The local days of the range, from the time zone database. */
export function boundsParameters(
  { startDay, endDay, zone }: Pick<DayQuery, 'startDay' | 'endDay' | 'zone'>,
  prefix = '',
): SqlParameters {
  const days = dayBounds(startDay, endDay, zone);
  return {
    [`${prefix}days`]: days.map(({ day }) => day),
    [`${prefix}starts_ms`]: days.map(({ startMs }) => BigInt(startMs)),
    [`${prefix}ends_ms`]: days.map(({ endMs }) => BigInt(endMs)),
  };
}

/** @throws StreamError InvalidRequest if the answer would need too many days of series */
export async function refuseTooMany(
  connection: DuckDBConnection,
  { files: filesOf, seriesMax }: Pick<DayReport, 'files' | 'seriesMax'>,
  query: DayQuery,
  generation: Generation,
): Promise<void> {
  const { files } = filesOf(generation, query);
  // Counting needs a query. In most cases the files have so few rows that the answer cannot be too large, and
  // the query is left out.
  if (files.reduce((sum, { rows }) => sum + rows, 0) <= seriesMax) return;
  const { sql, parameters } = chooseDays(query, generation);
  const [size] = await queryText<{ value_count: number }>(connection, sql + loadSql('report/count_values'), {
    ...parameters,
    files: files.map(generation.path),
  });
  const count = size!.value_count;
  if (count > seriesMax)
    throw new StreamError(
      'InvalidRequest',
      `the answer would need ${count} days of devices and sources, but it can have at most ${seriesMax}; ask for fewer days or devices`,
    );
}

/** The members of each period's series, as UTF-8, and the number of series with flags. */
export async function readPeriodMembers(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters,
): Promise<{ members: Map<string, Uint8Array>; flags: Record<string, number> }> {
  const rows = await queryText<
    { period: string; members: DuckDBBlobValue | null } & Record<string, DuckDBValue>
  >(connection, sql, parameters);
  const flags: Record<string, number> = {};
  const membersByPeriod = new Map<string, Uint8Array>();
  for (const { period, members, ...counts } of rows) {
    if (members) membersByPeriod.set(period, members.bytes);
    for (const [flag, count] of Object.entries(counts))
      if (Number(count) > 0) flags[flag] = (flags[flag] ?? 0) + Number(count);
  }
  return { members: membersByPeriod, flags };
}

/** A JSON object with a member for each day of a range, or for each of other periods, also without energy. */
export function assemble(
  { startDay, endDay }: Pick<DayQuery, 'startDay' | 'endDay'>,
  brackets: ReturnType<DayReport['brackets']>,
  membersOf: ReadonlyMap<string, Uint8Array>,
  periods = daysFrom(startDay, endDay),
): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let text = '{';
  for (const [index, period] of periods.entries()) {
    const members = membersOf.get(period);
    const { before, after } = brackets(period);
    text += `"${period}":${before}`;
    if (members) {
      parts.push(Buffer.from(text), members);
      text = '';
    }
    text += index === periods.length - 1 ? `${after}}` : `${after},`;
  }
  parts.push(Buffer.from(text));
  return parts;
}
