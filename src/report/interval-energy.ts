import { periodBounds } from '../publish/period.ts';
import { dayBounds, formatInstant, INTERVAL_MS } from '../time.ts';
import { loadSql } from '../warehouse/sql.ts';
import { type DayQuery, type DayReport, filesOfDays } from './day-report.ts';
import type { Generation } from './lake.ts';

/** The 15-minute profile of each day and series, from the stream that the day's energy comes from: it adds up to the day's Wh exactly. */
export const intervalEnergy: DayReport = {
  files: (generation, query) => ({
    files: filesOfDays(generation, query),
    interval_files: filesOfIntervals(generation, query),
  }),
  select: ({ bySource }) =>
    `, slot AS (\n${loadSql('report/intervals')})\n${loadSql(bySource ? 'report/intervals-by-source' : 'report/intervals-by-device')}`,
  parameters(query) {
    const days = boundsOf(query);
    return {
      days: days.map(({ day }) => day),
      starts_ms: days.map(({ startMs }) => BigInt(startMs)),
      ends_ms: days.map(({ endMs }) => BigInt(endMs)),
    };
  },
  frame(query) {
    const bounds = new Map(boundsOf(query).map((one) => [one.day, one]));
    return (day) => {
      const { startMs, endMs } = bounds.get(day)!;
      const intervals = (endMs - startMs) / INTERVAL_MS;
      return {
        before: `{"start":"${formatInstant(startMs)}","intervals":${intervals},"energyWh":{`,
        after: '}}',
      };
    };
  },
  // Five million intervals: some 25 MB.
  seriesMax: 50_000,
};

function boundsOf({ startDay, endDay, zone }: DayQuery) {
  return dayBounds(startDay, endDay, zone);
}

/** A file holds the intervals of a UTC day or month. */
function filesOfIntervals(generation: Generation, query: DayQuery) {
  const days = boundsOf(query);
  const { startMs } = days[0]!;
  const { endMs } = days.at(-1)!;
  return generation.files('interval_energy').filter(({ period }) => {
    const file = periodBounds(period);
    return file.startMs < endMs && file.endMs > startMs;
  });
}
