import { z } from 'zod';
import { energyMethods } from '../config/energy-stream.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { wholeWh } from '../contract/whole-wh.ts';
import { addDays, dayStart, isLocalDate, parseInstant, type UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Generation, LakeReader } from './lake-reader.ts';

/** Why a day got a new version. */
export const changeCauses = [
  'stream',
  'import',
  'backfill',
  'configuration',
  'zone',
  'learnt',
  'rules',
  'correction',
  'retried',
] as const;

const versionSchema = z.object({
  version: z.number().int(),
  energyWh: wholeWh.nullable().meta({ description: 'Wh; null where the day was withdrawn' }),
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
  before: versionSchema
    .nullable()
    .meta({ description: 'The last version before; null where there was none' }),
  after: versionSchema.extend({ status: z.enum(['provisional', 'final', 'restated']).nullable() }),
  differenceWh: wholeWh.meta({ description: 'After less before, where a day without energy is 0' }),
  versions: z.number().int().meta({ description: 'New versions in the time that is asked for' }),
  changedAt: z.iso.datetime().meta({ description: 'When the last of them was computed' }),
  causes: z.array(z.enum(changeCauses)).meta({
    description:
      'stream, import, backfill: readings that came so, after the day; configuration, zone: settings that were changed; learnt: limits that follow from other readings; rules: another version of Wattline, whose rules give the same readings another energy; correction: a person corrected it',
  }),
  batch: z.string().meta({ description: 'Newest batch that had been taken in' }),
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
    totals: totalsSchema.meta({ description: 'Sums over all changes, every source by itself' }),
    changes: z.array(dayChangeSchema),
  })
  .meta({ description: 'Days of a device and source that got another version' });

export interface ChangeQuery {
  sinceMs: UtcMs;
  /** First instant after; undefined for now. */
  untilMs: UtcMs | undefined;
  /** The only devices; undefined for all. */
  devices: readonly string[] | undefined;
  /** Changes of days that were not final, too. */
  withProvisional: boolean;
}

/** One answer holds at most this many; some 40 MB. */
const CHANGES_MAX = 100_000;
const END_OF_TIME_MS = Date.UTC(9999, 0);

/**
 * The days that got another version in a stretch of time, in order of day, device and source. Days that are not over change all the time
 * and are none of them.
 * @throws StreamError InvalidRequest when there are too many
 */
export async function readDayChanges(
  lake: LakeReader,
  generation: Generation | undefined,
  { sinceMs, untilMs = END_OF_TIME_MS, devices, withProvisional }: ChangeQuery,
  signal?: AbortSignal,
): Promise<DayChange[]> {
  const files = filesOfChanges(generation, sinceMs);
  if (files.length === 0 || devices?.length === 0) return [];
  const rows = await lake.run(
    (connection) =>
      query<{ change: string }>(connection, 'report/answer_day_changes', {
        files: files.map(generation!.path),
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

/** A file that was written before `since` holds no version from after it. */
export function filesOfChanges(generation: Generation | undefined, sinceMs: UtcMs) {
  return generation?.files('daily_energy_version').filter(({ createdAtMs }) => createdAtMs >= sinceMs) ?? [];
}

/** What changes come to. Sources stand for themselves, those too that are no part of the energy of their device. */
export function totalsOf(changes: readonly DayChange[]): z.output<typeof totalsSchema> {
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
 * When a time begins, or ends, that somebody names: a day in a zone, included as a whole, or an instant.
 * @returns undefined where the text is neither
 */
export function changeBound(text: string, zone: string, end: 'since' | 'until'): UtcMs | undefined {
  if (!isLocalDate(text)) return parseInstant(text);
  if (text <= '0000-01-01' || text >= '9999-12-31') return undefined;
  return dayStart(end === 'since' ? text : addDays(text, 1), zone);
}
