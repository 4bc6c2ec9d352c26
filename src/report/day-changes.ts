import { z } from 'zod';
import { energyMethods } from '../config/energy-stream.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { wholeWh } from '../contract/whole-wh.ts';
import { addDays, dayStart, isLocalDate, localDateOf, parseInstant, type UtcMs } from '../lib/time.ts';
import { dayStatuses } from '../rollup/day-statuses.ts';
import { versionCauseList, versionCauseNames } from '../rollup/version-causes.ts';
import { query } from '../warehouse/query.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';

const versionSchema = z.object({
  version: z.number().int(),
  energyWh: wholeWh.nullable().meta({ description: 'Wh; null if the day was withdrawn' }),
  method: z.enum(energyMethods).nullable(),
  flags: z.array(z.string()),
  coverage: z.number().nullable().meta({ description: 'Share of the day that measurements cover' }),
});

const dayChangeSchema = z.object({
  day: z.string().meta({ description: "Local day in the workgroup's time zone" }),
  device: z.string(),
  source: z.string(),
  kind: z.enum(['restated', 'added', 'withdrawn', 'provisional']).meta({
    description:
      'restated: had been final; added: had no energy until its period was closed; withdrawn: has no energy any more; provisional: was not final yet',
  }),
  before: versionSchema.nullable().meta({ description: 'The last version before; null if there was none' }),
  after: versionSchema.extend({ status: z.enum(dayStatuses).nullable() }),
  differenceWh: wholeWh.meta({ description: 'After minus before; a day without energy counts as 0' }),
  versions: z.number().int().meta({ description: 'Number of new versions in the requested time' }),
  changedAt: z.iso.datetime().meta({ description: 'When the last of them was computed' }),
  causes: z.array(z.enum(versionCauseNames)).meta({ description: versionCauseList }),
  batch: z.string().meta({ description: 'Newest batch that was rolled up' }),
});
export type DayChange = z.output<typeof dayChangeSchema>;

const totalsSchema = z.object({
  days: z.number().int().meta({ description: 'Days of a device and source' }),
  beforeWh: wholeWh,
  afterWh: wholeWh,
  differenceWh: wholeWh,
});

export const dayChangesSchema = z
  .object({
    since: z.iso.datetime(),
    until: z.iso.datetime().nullable().meta({ description: 'First instant after; null for now' }),
    totals: totalsSchema.meta({ description: 'Sums over all changes, each source separately' }),
    changes: z.array(dayChangeSchema),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Send it as `page` for the next page; null on the last one' }),
  })
  .meta({ description: 'Days of a device and source with a new version' });

interface ChangeQuery {
  sinceMs: UtcMs;
  /** First instant after; undefined for now. */
  untilMs: UtcMs | undefined;
  /** Only these devices; undefined: all. */
  devices: readonly string[] | undefined;
  /** Also changes of days that were not final. */
  withProvisional: boolean;
}

/** The maximum number of changes of one answer; about 40 MB. */
export const CHANGES_MAX = 100_000;
const END_OF_TIME_MS = Date.UTC(9999, 0);

/**
 * The days with a new version in a time range, in order of day, device and source. Days that are not over are
 * left out, because each publication changes them.
 * @throws StreamError InvalidRequest if there are too many
 */
export async function readDayChanges(
  lake: LakeReader,
  generation: Generation | undefined,
  { sinceMs, untilMs = END_OF_TIME_MS, devices, withProvisional }: ChangeQuery,
  signal?: AbortSignal,
): Promise<DayChange[]> {
  const files = filesOfChanges(generation, sinceMs);
  if (!generation || files.length === 0 || devices?.length === 0) return [];
  const rows = await lake.run(
    { generation, files },
    (connection) =>
      query<{ change: string }>(connection, 'report/answer_day_changes', {
        files: files.map(generation.path),
        since_ms: BigInt(sinceMs),
        until_ms: BigInt(untilMs),
        devices: devices ?? null,
        with_provisional: withProvisional,
        rows_max: CHANGES_MAX + 1,
      }),
    signal,
  );
  if (rows.length > CHANGES_MAX)
    throw new StreamError(
      'InvalidRequest',
      `more than ${CHANGES_MAX} days have changed; ask for a shorter time or for fewer devices`,
    );
  return rows.map(({ change }) => JSON.parse(change));
}

/** Only files written after `since`, because an older file has no later version. */
export function filesOfChanges(generation: Generation | undefined, sinceMs: UtcMs) {
  return generation?.files('daily_energy_version').filter(({ createdAtMs }) => createdAtMs >= sinceMs) ?? [];
}

/** The sums of changes. Each source counts, also sources that do not count for their device. */
export function totalChanges(changes: readonly DayChange[]): z.output<typeof totalsSchema> {
  const sum = (value: (change: DayChange) => number | null | undefined) =>
    changes.reduce((total, change) => total + (value(change) ?? 0), 0);
  return {
    days: changes.length,
    beforeWh: sum(({ before }) => before?.energyWh),
    afterWh: sum(({ after }) => after.energyWh),
    differenceWh: sum(({ differenceWh }) => differenceWh),
  };
}

/**
 * The start or the end of a given time: a whole day in a time zone, `today`, `yesterday`, or an instant.
 * @returns undefined if the text is neither
 */
export function changeBound(
  text: string,
  { zone, nowMs, end }: { zone: string; nowMs: UtcMs; end: 'since' | 'until' },
): UtcMs | undefined {
  const today = localDateOf(nowMs, zone);
  const day = text === 'today' ? today : text === 'yesterday' ? addDays(today, -1) : text;
  if (!isLocalDate(day)) return parseInstant(day);
  return dayStart(end === 'since' ? day : addDays(day, 1), zone);
}
