import type { DuckDBBlobValue, DuckDBConnection } from '@duckdb/node-api';
import { StreamError } from '../contract/errors.ts';
import type { LakeFile } from '../publish/commit.ts';
import { addDays, type LocalDate } from '../time.ts';
import { queryText, type SqlParameters } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import type { Generation, LakeReader } from './lake.ts';

/** Which part of the energy is asked for, by somebody who may see it. */
export interface DayQuery {
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  /** The zone that the days are of. */
  zone: string;
  bySource: boolean;
  /** The only devices to answer with, sorted; undefined for all. */
  devices: readonly string[] | undefined;
}

/** What is answered: a JSON object with a member for each day of a range, each with a member for each series that has energy. */
export interface DayReport {
  /** The files of a generation that an answer follows from, by the parameter of the statements that they are read as. */
  files(generation: Generation, query: DayQuery): { files: LakeFile[] } & Record<string, LakeFile[]>;
  /** The statement over "chosen" (see sql/report/days) that makes a row of each day: the members of its series. */
  select(query: DayQuery): string;
  parameters?(query: DayQuery): SqlParameters;
  /** What stands before and after the members of a day's series. */
  frame(query: DayQuery): (day: LocalDate) => { before: string; after: string };
  /** One answer holds at most this many series of a day; with what they are called in the refusal. */
  seriesMax: number;
}

/** The files of a generation that can hold days of the range: one a month. */
export function filesOfDays(generation: Generation, { startDay, endDay }: DayQuery): LakeFile[] {
  return generation
    .files('daily_energy')
    .filter(({ period }) => period >= startDay.slice(0, 7) && period <= endDay.slice(0, 7));
}

/** Where it says which sources add up to devices: of no matter where every source stands for itself. */
export function sourceFiles(generation: Generation, { bySource }: DayQuery): LakeFile[] {
  return bySource ? [] : generation.files('device_source');
}

/**
 * A report as JSON text: a key for each day of the range, in order, even where it is empty; series sorted by key.
 * @returns the text as UTF-8, in parts: joined they could take another 250 MB
 * @throws StreamError InvalidRequest when it would be too large
 */
export async function dayReportJson(
  report: DayReport,
  lake: LakeReader,
  generation: Generation | undefined,
  query: DayQuery,
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  const frame = report.frame(query);
  const lists = generation ? report.files(generation, query) : { files: [] };
  if (!generation || Object.values(lists).some((files) => files.length === 0) || query.devices?.length === 0)
    return assemble(query, frame, new Map());
  const chosen = chooseDays(query, sourceFiles(generation, query).map(generation.path));
  for (const [name, files] of Object.entries(lists)) chosen.parameters[name] = files.map(generation.path);
  const rowsMost = lists.files.reduce((sum, { rows }) => sum + rows, 0);
  const days = await lake.run(async (connection) => {
    if (rowsMost > report.seriesMax) await refuseTooMany(connection, chosen, report.seriesMax);
    return readDays(connection, chosen.sql + report.select(query), {
      ...chosen.parameters,
      ...report.parameters?.(query),
    });
  }, signal);
  return assemble(query, frame, days);
}

export interface Chosen {
  sql: string;
  parameters: SqlParameters;
}

/** The days of the range as "chosen", for the statements that follow, each with whether it counts in what is asked for. */
export function chooseDays(
  { startDay, endDay, devices }: DayQuery,
  deviceSources: readonly string[],
): Chosen {
  const days = loadSql(devices ? 'report/days-of-devices' : 'report/days');
  const parameters: SqlParameters = {
    start_day: startDay,
    end_day: endDay,
    ...(devices && { devices }),
  };
  if (deviceSources.length === 0)
    return { sql: `WITH chosen AS (SELECT *, true AS counts FROM (\n${days}))\n`, parameters };
  return {
    sql: `WITH every_day AS (\n${days}), chosen AS (\n${loadSql('report/counted-days')})\n`,
    parameters: { ...parameters, device_sources: deviceSources },
  };
}

async function refuseTooMany(
  connection: DuckDBConnection,
  { sql, parameters }: Chosen,
  seriesMax: number,
): Promise<void> {
  const [found] = await queryText<{ value_count: number }>(
    connection,
    sql + loadSql('report/count'),
    parameters,
  );
  const count = found!.value_count;
  if (count > seriesMax)
    throw new StreamError(
      'InvalidRequest',
      `the answer would be made of ${count} days of devices and sources, and ${seriesMax} are the most; ask for fewer days or devices`,
    );
}

/** The members of each day's series, as UTF-8. */
export async function readDays(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters,
): Promise<Map<LocalDate, Uint8Array>> {
  const found = await queryText<{ day: LocalDate; members: DuckDBBlobValue }>(connection, sql, parameters);
  return new Map(found.map(({ day, members }) => [day, members.bytes]));
}

/** A JSON object with a member for each day of a range, around the members that are known. */
export function assemble(
  { startDay, endDay }: Pick<DayQuery, 'startDay' | 'endDay'>,
  frame: ReturnType<DayReport['frame']>,
  days: ReadonlyMap<LocalDate, Uint8Array>,
): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let text = '{';
  for (let day = startDay; day <= endDay; day = addDays(day, 1)) {
    const members = days.get(day);
    const { before, after } = frame(day);
    text += `"${day}":${before}`;
    if (members) {
      parts.push(Buffer.from(text), members);
      text = '';
    }
    text += day === endDay ? `${after}}` : `${after},`;
  }
  parts.push(Buffer.from(text));
  return parts;
}
