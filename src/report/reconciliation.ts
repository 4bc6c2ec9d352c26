import { z } from 'zod';
import type { LocalDate } from '../lib/time.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { answeredDaySchema, wh } from './meter-answers.ts';
import { type DayValue, type DayValues, isMemberOn, percentOf, type SiteMember } from './site-days.ts';

/** A day with less coverage than this is not complete, like the flag `partial`. */
const COVERAGE_MIN = ruleConstants.full_coverage_share.value;

const sums = {
  metersWh: wh.meta({ description: 'Sum of the meters by their signs' }),
  devicesWh: wh.meta({ description: 'Sum of the devices by their signs' }),
  differenceWh: wh.meta({ description: 'Meters minus devices' }),
  differencePercent: z.number().nullable().meta({ description: 'Percent of the meters; null if they are 0' }),
};
const sumSchema = z.object({
  days: z.number().int().meta({ description: 'Days of the range' }),
  completeDays: z.number().int().meta({ description: 'Days that are in the sums' }),
  ...sums,
});
const exampleSum: z.output<typeof sumSchema> = {
  days: 2,
  completeDays: 1,
  metersWh: 20_000,
  devicesWh: 20_150,
  differenceWh: -150,
  differencePercent: -0.75,
};
export const reconciliationSchema = z
  .object({
    site: z.string(),
    timezone: z.string(),
    total: sumSchema,
    months: z.record(
      z.string().meta({ description: 'Month, YYYY-MM, as far as it is in the range' }),
      sumSchema,
    ),
    days: z
      .record(
        answeredDaySchema,
        z.object({
          ...sums,
          estimated: z.boolean().meta({ description: 'True if it contains an estimate' }),
        }),
      )
      .meta({ description: 'Days on which all members are complete' }),
    incompleteDays: z
      .record(
        answeredDaySchema,
        z.array(
          z.object({
            meter: z.string().optional(),
            device: z.string().optional(),
            source: z.string().optional(),
            reason: z.string(),
          }),
        ),
      )
      .meta({ description: 'The other days, with what is missing' }),
  })
  .meta({
    description: 'Meters of a site against its devices',
    example: {
      site: 'roof',
      timezone: 'Europe/Paris',
      total: exampleSum,
      months: { '2026-11': exampleSum },
      days: {
        '2026-11-19': {
          metersWh: 20_000,
          devicesWh: 20_150,
          differenceWh: -150,
          differencePercent: -0.75,
          estimated: false,
        },
      },
      incompleteDays: {
        '2026-11-20': [{ meter: 'GRID-1', reason: 'readings cover 62.5 % of the day' }],
      },
    },
  });
export type Reconciliation = z.output<typeof reconciliationSchema>;
type Missing = Reconciliation['incompleteDays'][string][number];

/** Compares the two sides of a site over the days on which all members are complete. Energies in Wh. */
export function reconcile(
  days: readonly LocalDate[],
  { meters, devices }: { meters: readonly SiteMember[]; devices: readonly SiteMember[] },
  values: DayValues,
): Pick<Reconciliation, 'total' | 'months' | 'days' | 'incompleteDays'> {
  const complete: Reconciliation['days'] = {};
  const incomplete: Reconciliation['incompleteDays'] = {};
  for (const day of days) {
    const known = values.get(day);
    const [metered, measured] = [meters, devices].map((side) => side.filter((one) => isMemberOn(one, day)));
    const members = [...metered!, ...measured!];
    const missing = members.flatMap((member): Missing[] => {
      const reason = whyIncomplete(known?.get(member.key));
      return reason === undefined ? [] : [{ ...nameOf(member), reason }];
    });
    if (metered!.length === 0) missing.push({ reason: 'no meter is a member on this day' });
    if (measured!.length === 0) missing.push({ reason: 'no device is a member on this day' });
    if (missing.length > 0) incomplete[day] = missing;
    else
      complete[day] = {
        ...compare(sumOf(metered!, known!), sumOf(measured!, known!)),
        estimated: members.some(({ key }) => known!.get(key)!.flags.includes('estimated')),
      };
  }
  const months = Map.groupBy(days, (day) => day.slice(0, 7));
  return {
    total: sumDays(days, complete),
    months: Object.fromEntries([...months].map(([month, list]) => [month, sumDays(list, complete)])),
    days: complete,
    incompleteDays: incomplete,
  };
}

function sumDays(days: readonly LocalDate[], complete: Reconciliation['days']): Reconciliation['total'] {
  const list = days.flatMap((day) => complete[day] ?? []);
  const total = (side: 'metersWh' | 'devicesWh') => list.reduce((sum, day) => sum + day[side], 0);
  return { days: days.length, completeDays: list.length, ...compare(total('metersWh'), total('devicesWh')) };
}

function compare(metersWh: number, devicesWh: number) {
  const differenceWh = metersWh - devicesWh;
  return { metersWh, devicesWh, differenceWh, differencePercent: percentOf(differenceWh, metersWh) };
}

function sumOf(members: readonly SiteMember[], values: ReadonlyMap<string, DayValue>): number {
  return members.reduce((sum, { key, sign }) => sum + sign * values.get(key)!.energyWh!, 0);
}

function whyIncomplete(value: DayValue | undefined): string | undefined {
  if (!value) return 'no energy is known';
  if (value.flags.includes('incomplete')) return 'a source of the device has no energy';
  if (value.energyWh === null) return 'its register fell, so that nobody knows the energy';
  if (value.coverage < COVERAGE_MIN)
    return `readings cover ${Math.floor(1_000 * value.coverage) / 10} % of the day`;
  return undefined;
}

function nameOf(member: SiteMember): Omit<Missing, 'reason'> {
  if ('meter' in member) return { meter: member.meter };
  return { device: member.device, ...(member.source !== undefined && { source: member.source }) };
}
