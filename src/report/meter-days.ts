import { commonTable } from '../balance/balance-sql.ts';
import type { MeterConfig } from '../config/meters.ts';
import { dayBounds, firstDayOfMonth, type LocalDate, localDateOf } from '../lib/time.ts';
import type { LakeFile } from '../publish/commit-schema.ts';
import { periodBounds } from '../publish/lake-period.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import {
  assemble,
  chosenTable,
  deviceSourceTable,
  pathParameters,
  readPeriodMembers,
  sumDevices,
} from './day-report.ts';
import type { Generation, LakeReader, QueryFiles } from './lake/lake-reader.ts';

/** A member with energy by days: a meter with uploaded readings, a device, or a source of a device. */
export interface Member {
  key: string;
  /** Code of a meter with uploaded readings. */
  code?: string;
  device?: string | undefined;
  /** Undefined: the device as a whole. */
  source?: string | undefined;
}

/** The origin of a meter's energy. */
export function memberOf({ code, device, source }: MeterConfig): Member {
  return device === undefined ? { key: code, code } : { key: code, device, source };
}

interface MemberDays {
  members: readonly Member[];
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  /** The time zone of the days. */
  zone: string;
  /** The time zone of the workgroup. Stored days are days of this zone. */
  ownZone: string;
  /** True if some net registers have two roles. A device can then count one part of such a register. */
  splits: boolean;
}

/**
 * Statements that read days from files of a generation as "meter_day" (see report/select_uploaded_days), for
 * the statement after them.
 */
export interface DaysSource {
  /** The files that the answer reads. */
  files: LakeFile[];
  /** Undefined if nothing is known about these days. */
  statements: { reads: QueryFiles; sql: string; parameters: SqlParameters } | undefined;
}

export function memberDays(generation: Generation | undefined, asked: MemberDays): DaysSource {
  if (!generation) return { files: [], statements: undefined };
  // A day is rounded so that the sum of its month stays right. So all days of the month before it are needed.
  const days = dayBounds(firstDayOfMonth(asked.startDay), asked.endDay, asked.zone);
  const { startMs } = days.find(({ day }) => day === asked.startDay)!;
  const { endMs } = days.at(-1)!;
  const read = { generation, asked, startMs, endMs };
  const parts = [
    ...(asked.members.some(({ code }) => code !== undefined) ? [uploadedDays(read)] : []),
    ...(asked.members.some(({ device }) => device !== undefined) ? [derivedDays(read)] : []),
  ].filter((part) => part !== undefined);
  const files = parts.flatMap((part) => part.files);
  if (parts.length === 0) return { files, statements: undefined };
  const needsDays = parts.some((part) => part.needsDays);
  const tables = [
    commonTable('member', loadSql('report/select_members')),
    ...(needsDays ? [commonTable('local_day', loadSql('report/select_local_days'))] : []),
    ...parts.flatMap((part) => part.tables),
    commonTable('meter_day', parts.map(({ name }) => `FROM ${name}`).join(' UNION ALL BY NAME ')),
  ];
  const parameters: SqlParameters = {
    members: JSON.stringify(asked.members),
    start_day: asked.startDay,
    full_coverage_share: ruleConstants.full_coverage_share.value,
    ...(needsDays && boundsParameters(days, '')),
    ...Object.assign({}, ...parts.map((part) => part.parameters)),
  };
  return {
    files,
    statements: { reads: { generation, files }, sql: `WITH ${tables.join(',\n')}\n`, parameters },
  };
}

/**
 * Days of meters as JSON text: a key for each day of the range, with a member for each meter.
 * @param select makes a row for each day of "meter_day", such as report/answer_meters
 * @returns the text as UTF-8, in parts
 */
export async function meterDaysJson(
  lake: LakeReader,
  { statements }: DaysSource,
  select: string,
  range: Pick<MemberDays, 'startDay' | 'endDay'>,
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  const members = statements
    ? await lake.run(
        statements.reads,
        async (connection) =>
          (await readPeriodMembers(connection, statements.sql + loadSql(select), statements.parameters))
            .members,
        signal,
      )
    : new Map<string, Uint8Array>();
  return assemble(range, () => ({ before: '{', after: '}' }), members);
}

interface Read {
  generation: Generation;
  asked: MemberDays;
  /** Bounds of the range. */
  startMs: number;
  endMs: number;
}

interface Part {
  name: string;
  tables: string[];
  files: LakeFile[];
  parameters: SqlParameters;
  needsDays: boolean;
}

/** All files that begin before the end of the range, because a reading can be for an interval of a year. */
function uploadedDays({ generation, endMs }: Read): Part | undefined {
  const files = generation
    .files('meter_reading')
    .filter(({ period }) => periodBounds(period).startMs < endMs);
  if (files.length === 0) return undefined;
  return {
    name: 'uploaded_day',
    tables: [commonTable('uploaded_day', loadSql('report/select_uploaded_days'))],
    files,
    parameters: { reading_files: files.map(generation.path) },
    needsDays: true,
  };
}

/** Days of the workgroup's time zone are stored; days of another time zone are sums of intervals. */
function derivedDays(read: Read): Part | undefined {
  const { generation, asked, startMs, endMs } = read;
  const { ownZone, zone } = asked;
  const isOwn = zone === ownZone;
  // The only day of the range is one that the time zone skipped.
  if (startMs === endMs) return undefined;
  const own = isOwn
    ? { first: asked.startDay, last: asked.endDay }
    : { first: localDateOf(startMs, ownZone), last: localDateOf(endMs - 1, ownZone) };
  const days = generation
    .files('daily_energy')
    .filter(({ period }) => period >= own.first.slice(0, 7) && period <= own.last.slice(0, 7));
  const ownBounds = isOwn ? [] : dayBounds(own.first, own.last, ownZone);
  const intervals = isOwn
    ? []
    : generation.files('interval_energy').filter(({ period }) => {
        const file = periodBounds(period);
        return file.startMs < ownBounds.at(-1)!.endMs && file.endMs > ownBounds[0]!.startMs;
      });
  if (days.length === 0 || (!isOwn && intervals.length === 0)) return undefined;
  const devices = isOwn
    ? ownDays(read)
    : daysOfZone(generation, intervals, boundsParameters(ownBounds, 'own_'));
  return {
    name: 'derived_day',
    tables: [
      commonTable('rule', loadSql('balance/find_rule')),
      ...devices.tables,
      commonTable('derived_day', loadSql('report/select_derived_days')),
    ],
    files: [...days, ...devices.files],
    parameters: { ...pathParameters(generation, { files: days }), ...devices.parameters },
    needsDays: !isOwn,
  };
}

type DeviceDays = Pick<Part, 'tables' | 'files' | 'parameters'>;

/** The energy of devices by days of the workgroup's zone. */
function ownDays({ generation, asked }: Read): DeviceDays {
  const { tables, files, parameters } = sumDevices({ ...asked, bySource: false }, generation);
  return {
    tables: [chosenTable('SELECT device FROM member'), ...tables],
    files,
    parameters: { end_day: asked.endDay, ...parameters },
  };
}

/** The energy of devices by days of another zone. */
function daysOfZone(
  generation: Generation,
  interval_files: LakeFile[],
  ownBounds: SqlParameters,
): DeviceDays {
  const device_sources = generation.files('device_source');
  return {
    tables: [
      deviceSourceTable(device_sources),
      commonTable('chosen', loadSql('report/select_source_days_of_zone')),
      commonTable('source_day', loadSql('balance/find_role_days')),
      commonTable('device_day', loadSql('balance/sum_device_day')),
    ],
    files: [...interval_files, ...device_sources],
    parameters: { ...pathParameters(generation, { interval_files, device_sources }), ...ownBounds },
  };
}

function boundsParameters(days: ReturnType<typeof dayBounds>, prefix: string): SqlParameters {
  return {
    [`${prefix}days`]: days.map(({ day }) => day),
    [`${prefix}starts_ms`]: days.map(({ startMs }) => BigInt(startMs)),
    [`${prefix}ends_ms`]: days.map(({ endMs }) => BigInt(endMs)),
  };
}
