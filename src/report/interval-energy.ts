import { dayBounds, formatInstant, INTERVAL_MS } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { boundsParameters, type DayReport, filesOfDays, filesOfIntervals } from './day-report.ts';

/** The 15-minute profile of each day and series, from the stream from which the day was read. It adds up to the day's Wh exactly. */
export const intervalEnergy: DayReport = {
  files: (generation, query) => ({
    files: filesOfDays(generation, query),
    interval_files: filesOfIntervals(generation, query),
  }),
  select: ({ bySource }) =>
    `, slot AS (\n${loadSql('report/select_intervals')})\n${loadSql(bySource ? 'report/answer_intervals_by_source' : 'report/answer_intervals_by_device')}`,
  parameters: (query) => boundsParameters(query),
  frame(query) {
    const bounds = new Map(dayBounds(query.startDay, query.endDay, query.zone).map((one) => [one.day, one]));
    return (day) => {
      const { startMs, endMs } = bounds.get(day)!;
      const intervals = (endMs - startMs) / INTERVAL_MS;
      return {
        before: `{"start":"${formatInstant(startMs)}","intervals":${intervals},"energyWh":{`,
        after: '}}',
      };
    };
  },
  // Five million intervals: about 25 MB.
  seriesMax: 50_000,
};
