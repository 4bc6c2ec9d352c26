import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { addDays, daysBetween, isLocalDate, type LocalDate, localDateOf, type UtcMs } from '../lib/time.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import type { DayQuery } from './day-report.ts';
import { meantText } from './known-names.ts';
import { formatShape } from './row-format.ts';
import { afterShape } from './wait-for-offset.ts';

const DEVICES_MAX = 10_000;
/** Five years, a leap day or two included. */
export const DAYS_MAX = 1_827;
/** A quarter of a year: the longest range of 15-minute intervals. */
export const PROFILE_DAYS_MAX = 92;

const once = { error: 'must be given once' };
export const daySchema = z.string(once).refine(isLocalDate, {
  error: ({ input }) => `must be a day that exists, such as 2026-11-20, not ${quote(input)}`,
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
export interface ResolutionParameters {
  resolution?: (typeof resolutions)[number];
}
export type DayParameters = z.output<ReturnType<typeof dayQuerySchema>>;

/**
 * The request with defaults, limited to what the caller can see.
 * @throws StreamError InvalidRequest that names the parameter
 */
export function dayQuery(
  parameters: DayParameters,
  authorization: Authorization,
  { workgroup, nowMs, daysMax }: { workgroup: WorkgroupConfig; nowMs: UtcMs; daysMax: number },
): DayQuery {
  const zone = workgroup.timezone;
  const { groupBy } = parameters;
  const { startDay, endDay } = rangeOrYesterday(parameters, { zone, nowMs, daysMax });
  const devices = visibleDevices(parameters.devices, authorization, workgroup);
  return {
    startDay,
    endDay,
    zone,
    bySource: groupBy === 'source',
    splits: hasSplits(workgroup),
    devices: devices?.sort(),
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
 * The devices of the answer: the requested ones that the caller can see.
 * @returns undefined for all
 * @throws StreamError InvalidRequest
 */
export function visibleDevices(
  asked: z.output<typeof devicesSchema>,
  { devices: visible }: Pick<Authorization, 'devices'>,
  { devices: configured }: Pick<WorkgroupConfig, 'devices'>,
): string[] | undefined {
  const named = configured.filter(({ id }) => visible === 'all' || visible.has(id));
  const wanted = asked === undefined ? undefined : parseDevices(asked, named);
  return visible === 'all' ? wanted : [...(wanted ?? visible)].filter((device) => visible.has(device));
}

/** @throws StreamError InvalidRequest if the range does not exist or is too long */
export function checkRange(startDay: LocalDate, endDay: LocalDate, daysMax: number): void {
  const days = daysBetween(startDay, endDay) + 1;
  if (days < 1) throw invalid('endDate', `the range ends (${endDay}) before it starts (${startDay})`);
  if (days > daysMax) throw invalid('startDate', `the range has ${days} days and ${daysMax} are the most`);
}

/** @param named the devices whose names the caller can see */
function parseDevices(value: string | readonly string[], named: WorkgroupConfig['devices']): string[] {
  const texts = (typeof value === 'string' ? [value] : value).flatMap((text) => text.split(','));
  if (texts.length > DEVICES_MAX) throw invalid('devices', `at most ${DEVICES_MAX} devices can be named`);
  const devices = new Set<string>();
  for (const text of texts) {
    devices.add(requireDevice('devices', text.trim(), named));
  }
  return [...devices];
}

/**
 * The id of a device from its id or its name. An id is not checked, because a device need not be configured.
 * @param named the devices whose names the caller can see
 * @throws StreamError InvalidRequest with the nearest name
 */
export function requireDevice(parameter: string, text: string, named: WorkgroupConfig['devices']): string {
  const id = findDevice({ devices: named }, text);
  if (id !== undefined) return id;
  const names = named.flatMap(({ name }) => name ?? []);
  const hint =
    names.length === 0 ? 'give the id of a device, a UUID' : `${meantText(text, 'devices', names)}`;
  throw invalid(parameter, `there is no device ${quote(text)}; ${hint}`);
}

/** Text of a caller, quoted for an error. */
export function quote(value: unknown): string {
  const text = String(value);
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

export function invalid(parameter: string, message: string): StreamError {
  return new StreamError('InvalidRequest', `${parameter}: ${message}`, { parameter });
}
