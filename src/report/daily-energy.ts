import { loadSql } from '../warehouse/load-sql.ts';
import { type DayQuery, type DayReport, daysFrom, filesOfDays } from './day-report.ts';
import type { Generation } from './lake-reader.ts';

const files = (generation: Generation, query: DayQuery) => ({ files: filesOfDays(generation, query) });
const frame = () => () => ({ before: '{', after: '}' });

/** Wh by day and series, as integers. */
export const dailyEnergy: DayReport = {
  files,
  select: ({ bySource }) => loadSql(bySource ? 'report/answer_by_source' : 'report/answer_by_device'),
  frame,
  // About 250 MB.
  seriesMax: 5_000_000,
};

/** Like `dailyEnergy`, with all details of each value. */
export const dailyEnergyDetails: DayReport = {
  files,
  select: ({ bySource }) =>
    loadSql(bySource ? 'report/answer_details_by_source' : 'report/answer_details_by_device'),
  frame,
  // About 250 MB too.
  seriesMax: 1_000_000,
};

/** The number of characters of a day that name its period. */
export const periodDigits = { month: 7, year: 4 } as const;
export type EnergyPeriod = keyof typeof periodDigits;

/** Wh by month or year and series: the sums of the days of the range. */
export function periodEnergy(period: EnergyPeriod): DayReport {
  const digits = periodDigits[period];
  return {
    ...dailyEnergy,
    select: ({ bySource }) =>
      loadSql(bySource ? 'report/answer_periods_by_source' : 'report/answer_periods_by_device'),
    parameters: () => ({ period_digits: digits }),
    periods: ({ startDay, endDay }) => [
      ...new Set(daysFrom(startDay, endDay).map((day) => day.slice(0, digits))),
    ],
  };
}
