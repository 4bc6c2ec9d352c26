import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { once } from '../http/query-schemas.ts';
import { shortenText } from '../lib/clip-text.ts';
import {
  addDays,
  dayBounds,
  daysBetween,
  isLocalDate,
  isTimeZone,
  type LocalDate,
  localDateOf,
  type UtcMs,
} from '../lib/time.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import type { DayQuery, ShownDays } from './day-report.ts';
import { alternativesText, findUnknownDevice, visibleNamed } from './known-devices.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import { formatShape } from './rows/row-format.ts';

const DEVICES_MAX = 10_000;
/** Five years with one or two leap days. */
export const DAYS_MAX = 1_827;
/** A quarter of a year: the longest range of 15-minute intervals. */
export const PROFILE_DAYS_MAX = 92;

export const daySchema = z.string(once).refine(isLocalDate, {
  error: ({ input }) => `must be a day that exists, such as 2026-11-20, not ${quote(input)}`,
});

const zoneSchema = z.string(once).refine(isTimeZone, {
  error: ({ input }) => `must be an IANA time zone, such as Europe/Paris, not ${quote(input)}`,
});
export const zoneParameter = zoneSchema.optional().meta({
  description: "IANA time zone of the days, such as Etc/UTC. Default: the workgroup's time zone",
  example: 'Europe/Paris',
});

export const addressSchema = z.object({ workgroupId: z.string().meta({ description: 'Workgroup' }) });

export const devicesSchema = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .meta({
    description:
      'Only these devices, by ids or configured names: repeated, or separated by commas. Default: all that the token can see',
    example: 'garage',
  });

/** The parameters of every report by days. @param daysMax the most days of one request */
export const dayQuerySchema = (daysMax: number) =>
  z.object({
    startDate: daySchema.optional().meta({
      description: "First day of the range. Default: yesterday in the workgroup's time zone",
      example: '2026-11-01',
    }),
    endDate: daySchema.optional().meta({
      description: `Last day of the range, included. Default: yesterday. At most ${daysMax} days`,
      example: '2026-11-20',
    }),
    groupBy: z
      .literal('source', { error: 'must be "source", given once' })
      .optional()
      .meta({ description: 'With `source`, a key is `<deviceId>.<source>`; without it, `<deviceId>`' }),
    devices: devicesSchema,
    ...formatShape,
    ...afterShape,
  });
const resolutions = ['day', 'month', 'year'] as const;
export const resolutionShape = {
  resolution: z
    .enum(resolutions, { error: `must be one of ${resolutions.join(', ')}, given once` })
    .optional()
    .meta({ description: 'Period of a key. Months and years contain only days of the range. Default: day' }),
};
const TOP_MAX = 100;
export const topShape = {
  top: z
    .string(once)
    .regex(/^\d{1,3}$/, { error: `must be a number from 1 to ${TOP_MAX}` })
    .transform(Number)
    .refine((value) => value >= 1 && value <= TOP_MAX, { error: `must be a number from 1 to ${TOP_MAX}` })
    .optional()
    .meta({
      description: `Only this many devices or sources, those with most energy in the range, largest first, and the sum of the others as \`others\`. At most ${TOP_MAX}, and only in JSON`,
      example: 8,
    }),
};
/** The parameter of reports that can also answer in the days of other zones. */
export const zoneShape = { timezone: zoneParameter };
export interface ResolutionParameters {
  resolution?: (typeof resolutions)[number];
}
export type DayParameters = z.output<ReturnType<typeof dayQuerySchema>> & {
  timezone?: string | undefined;
  top?: number | undefined;
};

/**
 * The request with defaults, limited to the devices that the caller can see.
 * @throws StreamError InvalidRequest that names the parameter
 */
export function dayQuery(
  parameters: DayParameters,
  authorization: Authorization,
  { workgroup, nowMs, daysMax }: { workgroup: WorkgroupConfig; nowMs: UtcMs; daysMax: number },
): DayQuery {
  const { groupBy, timezone, top } = parameters;
  const ownZone = workgroup.timezone;
  const zone = timezone ?? ownZone;
  const range = { ...rangeOrYesterday(parameters, { zone, nowMs, daysMax }), zone };
  const devices = visibleDevices(parameters.devices, authorization, workgroup);
  return {
    ...(zone === ownZone ? range : { ...ownDaysOf(range, ownZone), shown: range }),
    bySource: groupBy === 'source',
    ...(top !== undefined && { top }),
    splits: hasSplits(workgroup),
    devices: devices?.sort(),
  };
}

/** The days in the zone of the workgroup that contain these days of another zone. */
function ownDaysOf({ startDay, endDay, zone }: ShownDays, ownZone: string): ShownDays {
  const days = dayBounds(startDay, endDay, zone);
  const [startMs, endMs] = [days[0]!.startMs, days.at(-1)!.endMs];
  return {
    startDay: localDateOf(startMs, ownZone),
    // The range can have only one day, and its zone can have skipped this day.
    endDay: localDateOf(Math.max(startMs, endMs - 1), ownZone),
    zone: ownZone,
  };
}

/**
 * The days of a range. The default of each end is yesterday.
 * @throws StreamError InvalidRequest that names the parameter
 */
export function rangeOrYesterday(
  { startDate, endDate }: { startDate?: LocalDate | undefined; endDate?: LocalDate | undefined },
  { zone, nowMs, daysMax }: { zone: string; nowMs: UtcMs; daysMax: number },
): { startDay: LocalDate; endDay: LocalDate } {
  const yesterday = addDays(localDateOf(nowMs, zone), -1);
  const range = { startDay: startDate ?? yesterday, endDay: endDate ?? yesterday };
  if (endDate === undefined && range.startDay > yesterday)
    throw invalid(
      'endDate',
      `is yesterday (${yesterday}) unless it is given, which is before ${range.startDay}`,
    );
  checkRange(range.startDay, range.endDay, daysMax);
  return range;
}

/**
 * The requested devices. If the caller cannot see one of them, the error is the same as for an unknown
 * device, so that a token of device groups cannot find out which devices exist. `requireKnownDevices` checks
 * the ids that a caller may see.
 * @returns undefined for all
 * @throws StreamError InvalidRequest
 */
export function visibleDevices(
  asked: z.output<typeof devicesSchema>,
  { devices: visible }: Pick<Authorization, 'devices'>,
  workgroup: Pick<WorkgroupConfig, 'devices'>,
): string[] | undefined {
  if (asked === undefined) return visible === 'all' ? undefined : [...visible];
  const texts = (typeof asked === 'string' ? [asked] : asked).flatMap((text) => text.split(','));
  if (texts.length > DEVICES_MAX) throw invalid('devices', `at most ${DEVICES_MAX} devices can be named`);
  const ids = texts.map((text) => requireDevice('devices', text.trim(), { devices: visible }, workgroup));
  return [...new Set(ids)];
}

/**
 * Checks that devices are configured or published.
 * @throws StreamError InvalidRequest with the nearest device
 */
export async function requireKnownDevices(
  parameter: string,
  devices: readonly string[] | undefined,
  { lake, generation, workgroup }: PublishedWorkgroup,
): Promise<void> {
  const unknown = await findUnknownDevice(lake, generation, workgroup, devices);
  if (unknown) throw unknownDevice(parameter, unknown.device, workgroup.devices, unknown.known);
}

/** A workgroup with its published data. */
interface PublishedWorkgroup {
  lake: LakeReader;
  generation: Generation | undefined;
  workgroup: WorkgroupConfig;
}

/** @throws StreamError InvalidRequest if the range does not exist or is too long */
export function checkRange(startDay: LocalDate, endDay: LocalDate, daysMax: number): void {
  const days = daysBetween(startDay, endDay) + 1;
  if (days < 1) throw invalid('endDate', `the range ends (${endDay}) before it starts (${startDay})`);
  if (days > daysMax)
    throw invalid(
      'startDate',
      `the range has ${days} days, but at most ${daysMax} are allowed; ask for fewer days`,
    );
}

/**
 * The id of a device from its id or its name, if the caller can see it.
 * @throws StreamError InvalidRequest with the nearest device
 */
export function requireDevice(
  parameter: string,
  text: string,
  { devices: visible }: Pick<Authorization, 'devices'>,
  workgroup: Pick<WorkgroupConfig, 'devices'>,
): string {
  const devices = visibleNamed({ devices: visible }, workgroup);
  const id = findDevice({ devices }, text);
  if (id !== undefined && (visible === 'all' || visible.has(id))) return id;
  throw unknownDevice(parameter, text, devices, visible === 'all' ? [] : visible);
}

function unknownDevice(
  parameter: string,
  text: string,
  named: WorkgroupConfig['devices'],
  others: Iterable<string>,
): StreamError {
  return invalid(parameter, `there is no device ${quote(text)}; ${alternativesText(text, named, others)}`);
}

const SHOWN_CHARACTERS_MAX = 60;

/** Text of a caller, quoted for an error. */
export function quote(value: unknown): string {
  return JSON.stringify(shortenText(String(value), SHOWN_CHARACTERS_MAX));
}

export function invalid(parameter: string, message: string): StreamError {
  return new StreamError('InvalidRequest', `${parameter}: ${message}`, { parameter });
}
