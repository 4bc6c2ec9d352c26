import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type WorkgroupConfig, workgroupSchema, zodProblems } from '../config.ts';
import { InputError, type Problem } from '../errors.ts';
import { describeUnknown, inWords, nearest } from '../input-words.ts';
import { includesDay } from '../roles/dates.ts';
import { balanceRoles, type SourceRole } from '../roles/role.ts';
import type { PeakDevices } from '../roles/rows.ts';
import {
  addDays,
  daysBetween,
  INTERVAL_MS,
  isLocalDate,
  isTimeZone,
  type LocalDate,
  localDateOf,
  parseInstant,
  type UtcMs,
} from '../time.ts';

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

const wattHours = z.number().int('must be whole Wh').nullable();
const day = z.string().refine(isLocalDate, 'must be a day that exists, such as "2026-06-01"');
const zone = z.string().refine(isTimeZone, 'is not a time zone of the IANA database, such as "Europe/Paris"');
const peak = z.array(z.looseObject({ kWp: z.number(), from: z.string().optional() }));

const sourceSchema = z.looseObject({
  device: z.string().min(1),
  source: z.string().min(1),
  role: z.string().nullish(),
  negativeRole: z.string().nullish(),
  within: z.string().nullish(),
  from: day.nullish(),
  to: day.nullish(),
  sign: z.union([z.literal(1), z.literal(-1)], { error: 'must be 1 or -1' }).default(1),
  wh: z.record(z.string(), wattHours).default({}),
  unlistedWh: wattHours.default(0),
  dailyWh: z.record(day, wattHours).default({}),
  silent: z.boolean().default(false),
  peakPower: peak.optional(),
  energyRole: z.string().optional(),
  totalSource: z.string().optional(),
});
const optionsSchema = z
  .looseObject({
    toleranceWh: z.number().min(0).default(20),
    tolerancePercent: z.number().min(0).default(5),
    startDate: day.optional(),
    endDate: day.optional(),
    absent: z.array(z.enum(balanceRoles)).optional(),
    zones: z.array(zone).default([]),
  })
  .prefault({});
const caseSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  timezone: zone.default('Etc/UTC'),
  sources: z.array(sourceSchema).min(1, 'needs at least one source'),
  devices: z
    .array(
      z.looseObject({
        id: z.string().optional(),
        name: z.string().optional(),
        energyRole: z.string().optional(),
        totalSource: z.string().optional(),
        sources: z.array(z.string()).optional(),
        peakPower: peak.optional(),
      }),
    )
    .default([]),
  totalSource: z.string().optional(),
  absent: z.array(z.enum(balanceRoles)).optional(),
  sites: z.array(z.looseObject({ absent: z.array(z.enum(balanceRoles)).optional() })).default([]),
  options: optionsSchema,
  expected: z
    .looseObject({
      intervals: z.record(z.string(), z.unknown()).optional(),
      zones: z.record(zone, z.unknown()).optional(),
    })
    .optional(),
});
const knownKeys = { case: Object.keys(caseSchema.shape), source: Object.keys(sourceSchema.shape) };

/** Whether a case tells energy by source and interval, and not readings. */
export function isBalanceCase(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'sources' in item && !('energyStreams' in item);
}

/** More intervals of sources would take minutes. */
const VALUES_MAX = 5_000_000;

/** @throws InputError that says what is wrong with the form of the case, and where */
export function readBalanceCase(file: string, item: unknown, index: number): BalanceCase {
  const parsed = caseSchema.safeParse(item, inWords);
  if (!parsed.success) throw new InputError(`${file}, case ${index + 1}`, zodProblems(parsed.error));
  const one = parsed.data;
  const name = one.name ?? one.id ?? String(index + 1);
  const where = `${file}, case ${name}`;
  refuseMisspelt(where, one);
  const range = rangeOf(where, one);
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
        ...one.sites.flatMap(({ absent }) => absent ?? []),
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

type ParsedCase = z.output<typeof caseSchema>;

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
function rangeOf(where: string, { options, sources, timezone }: ParsedCase) {
  const listed = sources.flatMap(({ wh, dailyWh }) => [
    ...Object.keys(dailyWh),
    ...Object.keys(wh).map((start) => localDateOf(intervalStart(where, 'sources', start), timezone)),
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

interface CaseDevice {
  id: string;
  name: string;
  energyRole?: string | undefined;
  totalSource?: string | undefined;
  sources?: string[] | undefined;
  peakPower?: Array<{ kWp: number; from?: string | undefined }> | undefined;
}

function devicesOf(one: ParsedCase, idOf: Map<string, string>): CaseDevice[] {
  const described = new Map(
    one.devices.flatMap(({ id, name, ...rest }) => {
      const known = [name, id].find((text) => text !== undefined && idOf.has(text));
      return known === undefined ? [] : [[known, rest] as const];
    }),
  );
  return [...idOf].map(([name, id]) => {
    const own = one.sources.filter(({ device }) => device === name);
    const rest = described.get(name);
    const peaks = new Map(
      own.flatMap(({ source, peakPower }) => (peakPower ? [[source, peakPower] as const] : [])),
    );
    return {
      id,
      name,
      energyRole: rest?.energyRole ?? own.find(({ energyRole }) => energyRole)?.energyRole,
      totalSource: rest?.totalSource ?? own.find(({ totalSource }) => totalSource)?.totalSource,
      sources: rest?.sources,
      peakPower: rest?.peakPower ?? (peaks.size === 0 ? undefined : addPeaks([...peaks.values()])),
    };
  });
}

type Peaks = Array<{ kWp: number; from?: string | undefined }>;

/** The peak of a device whose sources have peaks of their own: their sum, from the day on which all of them are known. */
function addPeaks(sources: readonly Peaks[]): Peaks {
  if (sources.length === 1) return sources[0]!;
  const starts = new Set(sources.flatMap((peaks) => peaks.map(({ from }) => from)));
  return [...starts].flatMap((from) => {
    const at = sources.map(
      (peaks) =>
        peaks
          .filter((one) => (one.from ?? '') <= (from ?? ''))
          .toSorted((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1))
          .at(-1)?.kWp,
    );
    return at.some((kWp) => kWp === undefined)
      ? []
      : [{ kWp: at.reduce<number>((sum, kWp) => sum + kWp!, 0), from }];
  });
}

function workgroupOf(
  where: string,
  one: ParsedCase,
  devices: readonly CaseDevice[],
): WorkgroupConfig | InputError {
  const parsed = workgroupSchema.safeParse(
    {
      id: 'case',
      timezone: one.timezone,
      devices: devices.map((device) => withoutUndefined(device)),
      totalSource: one.totalSource,
      roles: one.sources.flatMap(({ device, source, role, negativeRole, within, from, to }) =>
        role == null
          ? []
          : [
              withoutUndefined({
                device,
                source,
                role,
                negativeRole: negativeRole ?? undefined,
                within: within ?? undefined,
                from: from ?? undefined,
                to: to ?? undefined,
              }),
            ],
      ),
    },
    inWords,
  );
  return parsed.success ? parsed.data : new InputError(where, zodProblems(parsed.error));
}

function withoutUndefined(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}

/** An id that follows from the name, so that the order of devices is always the same. */
function idOfName(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Whether a source is there on a day. */
export function isThere({ from, to }: CaseSource, on: LocalDate): boolean {
  return includesDay({ from, to }, on);
}

export function caseDays({ startDay, endDay }: BalanceCase): LocalDate[] {
  return Array.from({ length: daysBetween(startDay, endDay) + 1 }, (_, index) => addDays(startDay, index));
}
