import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import { budgetScenarios, type MeterConfig } from '../config/meters.ts';
import { checkRange, DAYS_MAX, daySchema, invalid, quote, zoneParameter } from './day-request.ts';
import { knownText, meantText } from './known-names.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import { formatShape } from './rows/row-format.ts';

/** The parameters of a required range of days. */
export const rangeShape = {
  startDate: z
    .string({ error: 'must be given, once, such as 2026-11-01' })
    .pipe(daySchema)
    .meta({ description: 'First day of the range', example: '2026-11-01' }),
  endDate: z
    .string({ error: 'must be given, once, such as 2026-11-20' })
    .pipe(daySchema)
    .meta({
      description: `Last day of the range, included. At most ${DAYS_MAX} days`,
      example: '2026-11-20',
    }),
};
export const scenarioParameter = z
  .string({ error: 'must be given once' })
  .optional()
  .meta({
    description: `Only budgets of this scenario, such as P50. Default: for each meter and day the first that has a budget, of ${budgetScenarios.join(', ')}, then the others by name`,
    example: 'P50',
  });
export const meterQuerySchema = z.object({
  ...rangeShape,
  timezone: zoneParameter,
  meterCodes: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({
      description:
        'Only these meters, by codes or names: repeated, or separated by commas. Default: all that the token can see',
      example: 'GRID-1',
    }),
  ...formatShape,
  ...afterShape,
});
export const budgetQuerySchema = meterQuerySchema.extend({
  timezone: zoneParameter.meta({
    description:
      'IANA time zone. A day of a budget is a calendar day in every zone, so the answer is the same for all zones',
    example: 'Europe/Paris',
  }),
  scenario: scenarioParameter,
});
export type MeterParameters = z.output<typeof budgetQuerySchema>;

/** A request for meters, limited to the meters that the caller can see. */
export interface MeterQuery {
  startDay: string;
  /** Included. */
  endDay: string;
  zone: string;
  meters: readonly MeterConfig[];
}

/**
 * The request with defaults.
 * @param ownZone the workgroup's time zone, the default
 * @throws StreamError InvalidRequest that names the parameter and the problem
 */
export function meterQuery(
  { startDate, endDate, timezone, meterCodes }: MeterParameters,
  { visible, ownZone }: { visible: readonly MeterConfig[]; ownZone: string },
): MeterQuery {
  checkRange(startDate, endDate, DAYS_MAX);
  return {
    startDay: startDate,
    endDay: endDate,
    zone: timezone ?? ownZone,
    meters: meterCodes === undefined ? visible : chooseMeters(meterCodes, visible),
  };
}

/**
 * The meters that a caller can see. A token of device groups sees only the meters of its devices. Uploaded
 * readings belong to no device, so only a token without device groups sees them.
 */
export function visibleMeters(
  meters: readonly MeterConfig[],
  { devices }: Authorization,
): readonly MeterConfig[] {
  if (devices === 'all') return meters;
  return meters.filter(({ device }) => device !== undefined && devices.has(device));
}

function chooseMeters(asked: string | readonly string[], visible: readonly MeterConfig[]): MeterConfig[] {
  const texts = (typeof asked === 'string' ? [asked] : asked).flatMap((text) => text.split(','));
  return [...new Set(texts.map((text) => findMeter(text.trim(), visible)))];
}

/** Finds a meter by its code, or by its name if no other meter has it. */
function findMeter(text: string, visible: readonly MeterConfig[]): MeterConfig {
  const coded = visible.find(({ code }) => code === text);
  if (coded) return coded;
  const named = visible.filter(({ name }) => name?.toLowerCase() === text.toLowerCase());
  if (named.length === 1) return named[0]!;
  const codes = (named.length > 1 ? named : visible).map(({ code }) => code);
  if (named.length > 1)
    throw invalid('meterCodes', `several meters have the name ${quote(text)}; ${knownText('codes', codes)}`);
  throw invalid('meterCodes', `no meter has the code ${quote(text)}; ${meantText(text, 'meters', codes)}`);
}
