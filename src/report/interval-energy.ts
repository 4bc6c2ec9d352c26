import { commonTable } from '../balance/balance-sql.ts';
import { dayBounds, formatInstant, INTERVAL_MS } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import {
  type DayQuery,
  type DayReport,
  filesOfDays,
  filesOfIntervals,
  type ShownDays,
  shownDays,
} from './day-report.ts';

/**
 * The 15-minute profile of each day and series. It comes from the energy stream from which the day was read,
 * so it adds up to the Wh of the day exactly.
 */
export const intervalEnergy: DayReport = {
  files: (generation, query) => ({
    files: filesOfDays(generation, query),
    interval_files: filesOfIntervals(generation, query),
  }),
  select: (query) =>
    `, ${commonTable('slot', loadSql('report/select_intervals'))}${query.top === undefined ? allSql(query) : topSql(query)}`,
  parameters: (query) => ({
    ...pieceParameters(query),
    ...(query.top !== undefined && { top: query.top }),
  }),
  brackets(query) {
    const bounds = new Map(boundsOf(shownDays(query)).map((one) => [one.day, one]));
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

function allSql({ bySource }: DayQuery): string {
  return `\n${loadSql(bySource ? 'report/answer_intervals_by_source' : 'report/answer_intervals_by_device')}`;
}

/** The largest series, and the sum of the others. */
function topSql({ bySource }: DayQuery): string {
  const profile = loadSql(
    bySource ? 'report/select_intervals_by_source' : 'report/select_intervals_by_device',
  );
  return `,\n${commonTable('profile', profile)}\nFROM (\n${loadSql('report/answer_top_intervals')}\n)`;
}

/**
 * The pieces of the days of the answer. Each piece lies in one day of the workgroup. A day that its zone
 * skips has no piece.
 */
function pieceParameters(query: DayQuery): SqlParameters {
  const own = boundsOf(query);
  const pieces = boundsOf(shownDays(query)).flatMap((shown) =>
    own.flatMap((day) => {
      const startMs = Math.max(day.startMs, shown.startMs);
      const endMs = Math.min(day.endMs, shown.endMs);
      return startMs < endMs ? [{ day: shown.day, ownDay: day.day, startMs, endMs }] : [];
    }),
  );
  return {
    interval_ms: INTERVAL_MS,
    days: pieces.map(({ day }) => day),
    own_days: pieces.map(({ ownDay }) => ownDay),
    starts_ms: pieces.map(({ startMs }) => BigInt(startMs)),
    ends_ms: pieces.map(({ endMs }) => BigInt(endMs)),
  };
}

function boundsOf({ startDay, endDay, zone }: ShownDays) {
  return dayBounds(startDay, endDay, zone);
}
