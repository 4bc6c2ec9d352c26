import { loadSql } from '../warehouse/load-sql.ts';
import { type DayQuery, type DayReport, filesOfDays } from './day-report.ts';
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
