import { z } from 'zod';
import { deviceIdSchema, nameSchema, tableNameSchema } from '../contract/messages.ts';
import { DAY_MS, INTERVAL_MS, isLocalDate, MINUTE_MS, type UtcMs } from '../lib/time.ts';

/** Limits of one correction, and of all. */
export const correctionLimits = {
  /** The maximum number of corrections of a workgroup, including undone ones and undos. */
  countMax: 20_000,
  setMs: 31 * DAY_MS,
  excludeMs: 366 * DAY_MS,
  /** Readings can be excluded this far in the future, for example for a planned test. */
  aheadMs: 31 * DAY_MS,
  reasonCharactersMax: 500,
  keyCharactersMax: 200,
  /** The energy of 10 GW in a quarter of an hour. */
  intervalWh: 2_500_000_000,
  shownMax: 1_000,
} as const;

const reason = z
  .string({ error: 'must say why, as text' })
  .trim()
  .min(1, { error: 'must say why' })
  .max(correctionLimits.reasonCharactersMax, {
    error: `must be ${correctionLimits.reasonCharactersMax} characters or fewer`,
  });
const day = z.string().refine(isLocalDate, { error: 'must be a day that exists, such as 2026-11-20' });
const instantMs = z.int().min(0);
const energyWh = z.int({ error: 'must be whole Wh' });
const of = { device: deviceIdSchema, source: nameSchema, reason, key: keySchema().optional() };

function keySchema() {
  return z.string().min(1).max(correctionLimits.keyCharactersMax);
}

/** A correction, as sent to the owner of the warehouse. Times are ms since 1970, energy is Wh. */
export const correctionRequestSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('exclude'),
    ...of,
    fromMs: instantMs,
    toMs: instantMs,
    table: tableNameSchema.optional(),
    field: nameSchema.optional(),
  }),
  z.strictObject({ kind: z.literal('set'), ...of, fromMs: instantMs, toMs: instantMs, energyWh }),
  z.strictObject({ kind: z.literal('set_day'), ...of, day, energyWh }),
  z.strictObject({
    kind: z.literal('fill'),
    ...of,
    fromMs: instantMs,
    toMs: instantMs,
    /** The source from which the estimate is made; undefined: comparable days of the source itself. */
    like: z.strictObject({ device: deviceIdSchema, source: nameSchema }).optional(),
    /** Also replaces measured intervals; else only intervals without measurements. */
    replace: z.boolean(),
  }),
  z.strictObject({
    kind: z.literal('undo'),
    correctionId: z.int().min(1),
    reason,
    key: keySchema().optional(),
  }),
]);
export type CorrectionRequest = z.output<typeof correctionRequestSchema>;
type CorrectionKind = CorrectionRequest['kind'];
export const correctionKinds = [
  'exclude',
  'set',
  'set_day',
  'fill',
  'undo',
] as const satisfies CorrectionKind[];

/** A query for stored corrections. */
export const correctionQuerySchema = z.strictObject({
  /** Only these devices; undefined: all. */
  devices: z.array(deviceIdSchema).max(10_000).optional(),
  source: nameSchema.optional(),
  /** Only corrections of this local day. */
  day: day.optional(),
  /** Only corrections in force. */
  inForce: z.boolean().optional(),
  /** Only corrections older than this one. */
  before: z.int().min(1).optional(),
  limit: z.int().min(1).max(correctionLimits.shownMax),
});
export type CorrectionQuery = z.output<typeof correctionQuerySchema>;

/** The problem of a time range, with the name of its end; undefined if there is none. */
export function stretchProblem(
  { fromMs, toMs }: { fromMs: UtcMs; toMs: UtcMs },
  kind: 'exclude' | 'set' | 'set_day' | 'fill',
  nowMs: UtcMs,
): { path: string; message: string } | undefined {
  const isExclusion = kind === 'exclude';
  const mostMs = isExclusion ? correctionLimits.excludeMs : correctionLimits.setMs;
  if (toMs <= fromMs) return { path: 'to', message: 'must be after from' };
  if (toMs - fromMs > mostMs)
    return { path: 'to', message: `at most ${mostMs / DAY_MS} days can be corrected at a time` };
  if (!isExclusion && toMs > nowMs)
    return {
      path: kind === 'set_day' ? 'day' : 'to',
      message: 'is not over yet; only what is over can be set or estimated',
    };
  if (isExclusion && toMs > nowMs + correctionLimits.aheadMs)
    return { path: 'to', message: `must not be more than ${correctionLimits.aheadMs / DAY_MS} days ahead` };
  if (isExclusion) return undefined;
  for (const [path, ms] of [
    ['from', fromMs],
    ['to', toMs],
  ] as const)
    if (ms % INTERVAL_MS !== 0)
      return { path, message: `must be on a quarter of an hour (${INTERVAL_MS / MINUTE_MS} minutes)` };
  return undefined;
}
