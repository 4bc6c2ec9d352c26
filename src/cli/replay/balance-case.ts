import type { WorkgroupConfig } from '../../config/config.ts';
import { zodProblems } from '../../config/load-config.ts';
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
import { includesDay } from '../../roles/role-dates.ts';
import type { PeakDevices } from '../../roles/role-rows.ts';
import { balanceCaseSchema, knownKeys, type ParsedCase } from './balance-case-schema.ts';
import { devicesOf, idOfName, workgroupOf } from './balance-case-workgroup.ts';

/** The energy of sources by interval, with their roles: what a balance is computed of, without readings. */
export interface BalanceCase {
  name: string;
  /** What the case comes to as a configuration; what is wrong with it where it cannot be one. */
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
  /** Other zones whose days and months are told. */
  zones: readonly string[];
  /** Starts of intervals that are told even if nothing flowed. */
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
  /** Wh by start of interval; null is not known. */
  wh: ReadonlyMap<UtcMs, number | null>;
  /** Wh of the intervals that are not listed. */
  unlistedWh: number | null;
  /** Wh of days of which nothing is known by interval. */
  dailyWh: ReadonlyMap<LocalDate, number | null>;
  /** There is no data at all. */
  silent: boolean;
}

/** Whether a case tells energy by source and interval, and not readings. */
export function isBalanceCase(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'sources' in item && !('energyStreams' in item);
}

/** More intervals of sources would take minutes. */
const VALUES_MAX = 5_000_000;

/** @throws InputError that says what is wrong with the form of the case, and where */
export function readBalanceCase(file: string, item: unknown, index: number): BalanceCase {
  const parsed = balanceCaseSchema.safeParse(item, inWords);
  if (!parsed.success) throw new InputError(`${file}, case ${index + 1}`, zodProblems(parsed.error));
  const one = parsed.data;
  const name = one.id ?? one.name ?? String(index + 1);
  const where = `${file}, case ${name}`;
  refuseMisspelt(where, one);
  const names = [...new Set(one.sources.map(({ device }) => device))];
  const idOf = new Map(names.map((device) => [device, idOfName(device)]));
  const sources = one.sources.map(
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
  const range = rangeOf(where, one, sources);
  const intervals = (daysBetween(range.startDay, range.endDay) + 1) * 96 * sources.length;
  if (intervals > VALUES_MAX)
    throw new InputError(where, [
      {
        path: 'options',
        message: `asks for ${intervals} intervals of sources, and ${VALUES_MAX} are the most`,
      },
    ]);
  const devices = devicesOf(one, idOf);
  return {
    name,
    workgroup: workgroupOf(where, one, devices),
    sources,
    absent: [
      ...new Set([
        ...(one.absent ?? []),
        ...(one.options.absent ?? []),
        ...[...one.sites, ...(one.site ? [one.site] : [])].flatMap(({ absent }) => absent ?? []),
      ]),
    ],
    devices,
    timezone: one.timezone,
    ...range,
    toleranceWh: one.options.toleranceWh,
    tolerancePercent: one.options.tolerancePercent,
    zones: [...new Set(['Etc/UTC', ...one.options.zones, ...Object.keys(one.expected?.zones ?? {})])],
    askedMs: Object.keys(one.expected?.intervals ?? {}).map((start) =>
      intervalStart(where, 'expected.intervals', start),
    ),
    deviceNames: new Map([...idOf].map(([device, id]) => [id, device])),
  };
}

function refuseMisspelt(where: string, one: ParsedCase): void {
  const misspelt = (item: object, keys: string[], path: string): Problem[] =>
    Object.keys(item).flatMap((key) => {
      const meant = keys.includes(key) ? undefined : nearest(key, keys);
      return meant === undefined ? [] : [{ path: `${path}${key}`, message: describeUnknown(meant) }];
    });
  const problems = [
    ...misspelt(one, knownKeys.case, ''),
    ...one.sources.flatMap((source, index) => misspelt(source, knownKeys.source, `sources.${index}.`)),
  ];
  if (problems.length > 0) throw new InputError(where, problems);
}

/** The days that are asked for; those that energy is listed of where none are. */
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
      { path: 'options.startDate', message: 'is missing, and no energy is listed that would tell the days' },
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

/** Whether a source is there on a day. */
export function isThere({ from, to }: CaseSource, on: LocalDate): boolean {
  return includesDay({ from, to }, on);
}

export function caseDays({ startDay, endDay }: BalanceCase): LocalDate[] {
  return Array.from({ length: daysBetween(startDay, endDay) + 1 }, (_, index) => addDays(startDay, index));
}
