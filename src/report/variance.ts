import { z } from 'zod';
import type { LocalDate } from '../lib/time.ts';
import { answeredDaySchema, wh } from './meter-answers.ts';
import { type DayValues, isMemberOn, percentOf, type SiteMember } from './site-days.ts';

const percent = z
  .number()
  .nullable()
  .meta({ description: 'Percent of the budget; null if there is none, or it is 0' });
const varianceDaySchema = z.object({
  actualWh: wh.nullable().meta({ description: 'Null if a meter has no energy' }),
  budgetWh: wh.nullable().meta({ description: 'Null if a meter has no budget' }),
  varianceWh: wh
    .nullable()
    .meta({ description: 'Actual minus budget, for days that are over and have both' }),
  variancePercent: percent,
  partial: z.boolean().meta({ description: 'True if readings cover only a part of the day' }),
  scenarios: z.array(z.string()).meta({ description: 'Scenarios of the budgets of the day' }),
});
const sumSchema = z.object({
  days: z.number().int().meta({ description: 'Days of the range' }),
  elapsedDays: z.number().int().meta({ description: 'Days that are over' }),
  comparedDays: z
    .number()
    .int()
    .meta({ description: 'Days that have both; actualWh, budgetWh and the variance are sums of these days' }),
  partialDays: z.number().int().meta({ description: 'Days that readings cover only in part' }),
  actualWh: wh,
  budgetWh: wh,
  varianceWh: wh.nullable().meta({ description: 'Actual minus budget; null if no day has both' }),
  variancePercent: percent,
  budgetToDateWh: wh.meta({ description: 'Budget of all elapsed days, with actual energy or without' }),
  budgetOfAllDaysWh: wh.meta({ description: 'Budget of all days of the range, also future ones' }),
});
type VarianceSum = z.output<typeof sumSchema>;

const exampleSum: VarianceSum = {
  days: 30,
  elapsedDays: 20,
  comparedDays: 19,
  partialDays: 1,
  actualWh: 361_000,
  budgetWh: 342_000,
  varianceWh: 19_000,
  variancePercent: 5.56,
  budgetToDateWh: 360_000,
  budgetOfAllDaysWh: 540_000,
};
export const varianceSchema = z
  .object({
    site: z.string(),
    timezone: z.string(),
    scenario: z.string().nullable().meta({
      description: 'The scenario of all budgets in the range; null if there are several, or none',
    }),
    scenarios: z
      .record(z.string().meta({ description: 'Code of the meter' }), z.array(z.string()))
      .meta({ description: 'The scenarios of the budgets of each meter in the range, the first day first' }),
    metersWithoutBudget: z
      .array(z.string())
      .meta({ description: 'Meters without a budget in the range, which are left out of both sides' }),
    total: sumSchema,
    months: z.record(
      z.string().meta({ description: 'Month, YYYY-MM, as far as it is in the range' }),
      sumSchema,
    ),
    days: z.record(answeredDaySchema, varianceDaySchema),
  })
  .meta({
    description: 'Actual energy of a site against its budget',
    example: {
      site: 'roof',
      timezone: 'Europe/Paris',
      scenario: 'P50',
      scenarios: { PV: ['P50'] },
      metersWithoutBudget: ['GRID-1'],
      total: exampleSum,
      months: { '2026-11': exampleSum },
      days: {
        '2026-11-20': {
          actualWh: 19_000,
          budgetWh: 18_000,
          varianceWh: 1_000,
          variancePercent: 5.56,
          partial: false,
          scenarios: ['P50'],
        },
      },
    },
  });
export type Variance = z.output<typeof varianceSchema>;
type VarianceDay = z.output<typeof varianceDaySchema>;

/**
 * Compares meters with their budgets by day, month and in total, in Wh. Meters without any budget in the
 * range are left out.
 * @param today the first day that is not over yet
 */
export function varianceOf(
  days: readonly LocalDate[],
  meters: readonly SiteMember[],
  { actual, budget, today }: { actual: DayValues; budget: DayValues; today: LocalDate },
): Omit<Variance, 'site' | 'timezone'> {
  const budgeted = new Set(days.flatMap((day) => [...(budget.get(day)?.keys() ?? [])]));
  const compared = meters.filter(({ key }) => budgeted.has(key));
  const daysWithVariance = days.map((day) => {
    const members = compared.filter((one) => isMemberOn(one, day));
    const actualWh = sumOf(members, actual.get(day));
    const budgetWh = sumOf(members, budget.get(day));
    const isCompared = day < today && actualWh !== null && budgetWh !== null;
    const varianceWh = isCompared ? actualWh - budgetWh : null;
    const variancePercent = isCompared ? percentOf(actualWh - budgetWh, budgetWh) : null;
    const partial = members.some(({ key }) => actual.get(day)?.get(key)?.flags.includes('partial'));
    const scenarios = distinct(members.map(({ key }) => budget.get(day)?.get(key)?.scenario));
    return { day, value: { actualWh, budgetWh, varianceWh, variancePercent, partial, scenarios } };
  });
  const used = distinct(daysWithVariance.flatMap(({ value }) => value.scenarios));
  const months = Map.groupBy(daysWithVariance, ({ day }) => day.slice(0, 7));
  return {
    scenario: used.length === 1 ? used[0]! : null,
    scenarios: Object.fromEntries(
      compared.map((member) => [
        member.key,
        distinct(
          days
            .filter((day) => isMemberOn(member, day))
            .map((day) => budget.get(day)?.get(member.key)?.scenario),
        ),
      ]),
    ),
    metersWithoutBudget: [...new Set(meters.map(({ key }) => key))].filter((key) => !budgeted.has(key)),
    total: sumDays(daysWithVariance, today),
    months: Object.fromEntries([...months].map(([month, list]) => [month, sumDays(list, today)])),
    days: Object.fromEntries(daysWithVariance.map(({ day, value }) => [day, value])),
  };
}

function distinct(names: ReadonlyArray<string | undefined>): string[] {
  return [...new Set(names)].filter((name) => name !== undefined);
}

function sumDays(list: ReadonlyArray<{ day: LocalDate; value: VarianceDay }>, today: LocalDate): VarianceSum {
  const elapsed = list.filter(({ day }) => day < today);
  const compared = elapsed.filter(({ value }) => value.varianceWh !== null);
  const actualWh = total(compared, 'actualWh');
  const budgetWh = total(compared, 'budgetWh');
  const isCompared = compared.length > 0;
  return {
    days: list.length,
    elapsedDays: elapsed.length,
    comparedDays: compared.length,
    partialDays: compared.filter(({ value }) => value.partial).length,
    actualWh,
    budgetWh,
    varianceWh: isCompared ? actualWh - budgetWh : null,
    variancePercent: isCompared ? percentOf(actualWh - budgetWh, budgetWh) : null,
    budgetToDateWh: total(elapsed, 'budgetWh'),
    budgetOfAllDaysWh: total(list, 'budgetWh'),
  };
}

function total(list: ReadonlyArray<{ value: VarianceDay }>, name: 'actualWh' | 'budgetWh'): number {
  return list.reduce((sum, { value }) => sum + (value[name] ?? 0), 0);
}

/** @returns null if one of them is unknown, or if there is none */
function sumOf(members: readonly SiteMember[], values: ReturnType<DayValues['get']>): number | null {
  if (members.length === 0) return null;
  let sum = 0;
  for (const { key, sign } of members) {
    const energyWh = values?.get(key)?.energyWh ?? null;
    if (energyWh === null) return null;
    sum += sign * energyWh;
  }
  return sum;
}
