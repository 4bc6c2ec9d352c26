import type { WorkgroupConfig } from '../../config/config.ts';
import { zodProblems } from '../../config/zod-problems.ts';
import { InputError, type Problem } from '../../lib/errors.ts';
import { describeUnknown, inWords, nearest } from '../../lib/input-words.ts';
import {
  addDays,
  daysBetween,
  INTERVAL_MS,
  type LocalDate,
  localDateOf,
  parseInstant,
  type UtcMs,
} from '../../lib/time.ts';
import type { SourceRole } from '../../roles/role.ts';
import type { PeakDevices } from '../../roles/role-rows.ts';
import { balanceCaseSchema, knownKeys, type ParsedCase } from './balance-case-schema.ts';
import { caseDevicesOf, idOfName, workgroupOf } from './balance-case-workgroup.ts';

/** The energy of sources by interval, with their roles. A balance is computed from it without readings. */
export interface BalanceCase {
  name: string;
  /** The configuration of the case, or its problems. */
  workgroup: WorkgroupConfig | InputError;
  sources: readonly CaseSource[];
  absent: readonly SourceRole[];
  /** Devices with their peak powers. */
  devices: PeakDevices;
  timezone: string;
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  toleranceWh: number;
  tolerancePercent: number;
  /** Other zones. Days and months are reported for each of them. */
  zones: readonly string[];
  /** Starts of intervals that are reported even if their energy is zero. */
  askedMs: readonly UtcMs[];
  /** Names of devices by their ids. */
  deviceNames: ReadonlyMap<string, string>;
}

export interface CaseSource {
  device: string;
  source: string;
  from: LocalDate | undefined;
  to: LocalDate | undefined;
  sign: 1 | -1;
  /** Wh by start of interval. Null is unknown. */
  wh: ReadonlyMap<UtcMs, number | null>;
  /** Wh of intervals that are not listed. */
  unlistedWh: number | null;
  /** Wh of days without known intervals. */
  dailyWh: ReadonlyMap<LocalDate, number | null>;
  /** The source has no data at all. */
  silent: boolean;
}

/** True if a case has energy by source and interval instead of readings. */
export function isBalanceCase(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'sources' in item && !('energyStreams' in item);
}

/** More intervals of sources would take minutes. */
const VALUES_MAX = 5_000_000;

/** @throws InputError with the problem of the format and its place */
export function readBalanceCase(file: string, item: unknown, index: number): BalanceCase {
  const parsed = balanceCaseSchema.safeParse(item, inWords);
  if (!parsed.success) throw new InputError(`${file}, case ${index + 1}`, zodProblems(parsed.error));
  const parsedCase = parsed.data;
  const name = parsedCase.id ?? parsedCase.name ?? String(index + 1);
  const where = `${file}, case ${name}`;
  refuseMisspelt(where, parsedCase);
  const names = [...new Set(parsedCase.sources.map(({ device }) => device))];
  const idOf = new Map(names.map((device) => [device, idOfName(device)]));
  const sources = parsedCase.sources.map(
    (source, at): CaseSource => ({
      device: idOf.get(source.device)!,
      source: source.source,
      from: source.from ?? undefined,
      to: source.to ?? undefined,
      sign: source.sign,
      wh: new Map(
        Object.entries(source.wh).map(([start, wh]) => [intervalStart(where, `sources.${at}.wh`, start), wh]),
      ),
      unlistedWh: source.unlistedWh,
      dailyWh: new Map(Object.entries(source.dailyWh)),
      silent: source.silent,
    }),
  );
  const range = rangeOf(where, parsedCase, sources);
  const intervals = (daysBetween(range.startDay, range.endDay) + 1) * 96 * sources.length;
  if (intervals > VALUES_MAX)
    throw new InputError(where, [
      {
        path: 'options',
        message: `asks for ${intervals} intervals of sources, at most ${VALUES_MAX} are possible`,
      },
    ]);
  const devices = caseDevicesOf(parsedCase, idOf);
  return {
    name,
    workgroup: workgroupOf(where, parsedCase, devices),
    sources,
    absent: [
      ...new Set([
        ...(parsedCase.absent ?? []),
        ...(parsedCase.options.absent ?? []),
        ...[...parsedCase.sites, ...(parsedCase.site ? [parsedCase.site] : [])].flatMap(
          ({ absent }) => absent ?? [],
        ),
      ]),
    ],
    devices,
    timezone: parsedCase.timezone,
    ...range,
    toleranceWh: parsedCase.options.toleranceWh,
    tolerancePercent: parsedCase.options.tolerancePercent,
    zones: [
      ...new Set(['Etc/UTC', ...parsedCase.options.zones, ...Object.keys(parsedCase.expected?.zones ?? {})]),
    ],
    askedMs: Object.keys(parsedCase.expected?.intervals ?? {}).map((start) =>
      intervalStart(where, 'expected.intervals', start),
    ),
    deviceNames: new Map([...idOf].map(([device, id]) => [id, device])),
  };
}

function refuseMisspelt(where: string, parsedCase: ParsedCase): void {
  const misspelt = (item: object, keys: string[], path: string): Problem[] =>
    Object.keys(item).flatMap((key) => {
      const suggestion = keys.includes(key) ? undefined : nearest(key, keys);
      return suggestion === undefined
        ? []
        : [{ path: `${path}${key}`, message: describeUnknown(suggestion) }];
    });
  const problems = [
    ...misspelt(parsedCase, knownKeys.case, ''),
    ...parsedCase.sources.flatMap((source, index) => misspelt(source, knownKeys.source, `sources.${index}.`)),
  ];
  if (problems.length > 0) throw new InputError(where, problems);
}

/** The days that are asked for. Default: the days with energy. */
function rangeOf(where: string, { options, timezone }: ParsedCase, sources: readonly CaseSource[]) {
  const listed = sources.flatMap(({ wh, dailyWh }) => [
    ...dailyWh.keys(),
    ...[...wh.keys()].map((ms) => localDateOf(ms, timezone)),
  ]);
  listed.sort();
  const startDay = options.startDate ?? listed[0];
  const endDay = options.endDate ?? listed.at(-1);
  if (startDay === undefined || endDay === undefined)
    throw new InputError(where, [
      { path: 'options.startDate', message: 'is missing, and no energy is listed to take the days from' },
    ]);
  if (endDay < startDay)
    throw new InputError(where, [{ path: 'options.endDate', message: `is before startDate (${startDay})` }]);
  return { startDay, endDay };
}

function intervalStart(where: string, path: string, text: string): UtcMs {
  const ms = parseInstant(text);
  if (ms !== undefined && ms % INTERVAL_MS === 0) return ms;
  throw new InputError(where, [
    { path, message: `"${text}" is not the start of a quarter of an hour, such as 2026-06-01T12:15:00Z` },
  ]);
}

export function caseDays({ startDay, endDay }: BalanceCase): LocalDate[] {
  return Array.from({ length: daysBetween(startDay, endDay) + 1 }, (_, index) => addDays(startDay, index));
}
