import { commonTable, periodDigits } from '../balance/balance-sql.ts';
import { daysFrom } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import { type DayQuery, type DayReport, filesOfDays } from './day-report.ts';
import type { Generation } from './lake/lake-reader.ts';

const files = (generation: Generation, query: DayQuery) => ({ files: filesOfDays(generation, query) });
const brackets = () => () => ({ before: '{', after: '}' });

/** Wh by day and series, as integers. */
export const dailyEnergy: DayReport = {
  files,
  select: (query) =>
    query.top === undefined
      ? loadSql(query.bySource ? 'report/answer_by_source' : 'report/answer_by_device')
      : topSql(query),
  parameters: (query) => topParameters(query, 'YYYY-MM-DD'.length),
  brackets,
  // About 250 MB.
  seriesMax: 5_000_000,
};

/** Like `dailyEnergy`, with all details of each value. */
export const dailyEnergyDetails: DayReport = {
  files,
  select: ({ bySource }) =>
    loadSql(bySource ? 'report/answer_details_by_source' : 'report/answer_details_by_device'),
  brackets,
  // About 250 MB too.
  seriesMax: 1_000_000,
};

/** The largest series, and the sum of the others. */
function topSql({ bySource }: DayQuery): string {
  const energy = loadSql(bySource ? 'report/select_energy_by_source' : 'report/select_energy_by_device');
  return `, ${commonTable('energy', energy)}\nFROM (\n${loadSql('report/answer_top')}\n)`;
}

function topParameters({ top }: DayQuery, digits: number): SqlParameters {
  return top === undefined ? {} : { top, period_digits: digits };
}

export type EnergyPeriod = Exclude<keyof typeof periodDigits, 'day'>;

/** Wh by month or year and series: the sums of the days of the range. */
export function periodEnergy(period: EnergyPeriod): DayReport {
  const digits = periodDigits[period];
  return {
    ...dailyEnergy,
    select: (query) =>
      query.top === undefined
        ? loadSql(query.bySource ? 'report/answer_periods_by_source' : 'report/answer_periods_by_device')
        : topSql(query),
    parameters: (query) => ({ ...topParameters(query, digits), period_digits: digits }),
    periods: ({ startDay, endDay }) => [
      ...new Set(daysFrom(startDay, endDay).map((day) => day.slice(0, digits))),
    ],
  };
}
