import { expect, test } from 'vitest';
import type { DailyEnergy, DayDetails } from '../../src/web/facts/answers.ts';
import { seriesColumns } from '../../src/web/facts/energy-columns.ts';
import { compareColumns, gapsOfPeriod } from '../../src/web/facts/period-facts.ts';
import { shiftDay } from '../../src/web/words/local-days.ts';
import { columnName } from '../../src/web/words/time-words.ts';
import { dayOfSeries, today } from './support/days-of-series.ts';

/** The columns of the days from `from` to `to`. */
const columnsOf = (energy: DailyEnergy | DayDetails, from: string, to: string) =>
  seriesColumns(
    energy,
    () => true,
    (key) => key,
    { period: { from, to }, grain: 'day', today },
  );

test('only days that are known in both periods are compared and counted', () => {
  const now = columnsOf(
    { '2026-11-16': { a: 5, b: 1 }, '2026-11-18': { a: 0 }, '2026-11-19': { a: 7 } },
    '2026-11-16',
    '2026-11-19',
  );
  const before = columnsOf(
    { '2026-11-12': { a: 4 }, '2026-11-13': { a: 100 }, '2026-11-14': { a: 2, b: 1 } },
    '2026-11-12',
    '2026-11-15',
  );
  expect(compareColumns(now, before)).toEqual({ columnCount: 2, nowWh: 6, beforeWh: 7 });
  // The other period is shorter, such as February.
  const shorter = { ...before, columns: before.columns.slice(0, 1) };
  expect(compareColumns(now, shorter)).toEqual({ columnCount: 1, nowWh: 6, beforeWh: 4 });
  const empty = columnsOf({}, '2026-11-12', '2026-11-15');
  expect(compareColumns(now, empty)).toEqual({ columnCount: 0, nowWh: 0, beforeWh: 0 });
});

test('days without data, with a part of it and with a mark are counted, and today is apart', () => {
  const [first, second, third] = [4, 3, 2].map((back) => shiftDay(today, -back)) as [string, string, string];
  const days: DayDetails = {
    [first]: { a: dayOfSeries(5, { flags: ['partial'] }), b: dayOfSeries(1) },
    [third]: { a: dayOfSeries(5, { flags: ['contradicted'] }) },
    [shiftDay(today, -1)]: { a: dayOfSeries(5), b: dayOfSeries(2) },
    [today]: { a: dayOfSeries(2) },
  };
  const period = [shiftDay(today, -6), shiftDay(today, 2)] as const;
  expect(gapsOfPeriod(columnsOf(days, ...period), today)).toEqual({
    firstName: columnName(first),
    begun: 5,
    missing: 1,
    partly: 1,
    isTodayKnown: false,
    doubtful: 2,
  });
  const whole: DayDetails = {
    ...days,
    [second]: { a: dayOfSeries(1), b: dayOfSeries(1) },
    [today]: { a: dayOfSeries(2), b: dayOfSeries(0) },
  };
  expect(gapsOfPeriod(columnsOf(whole, ...period), today)).toMatchObject({ missing: 0, isTodayKnown: true });
  const part = columnsOf(days, ...period);
  const measured = part.columns.map((column) =>
    column.key === second ? { ...column, isPart: true } : column,
  );
  expect(gapsOfPeriod({ ...part, columns: measured }, today)).toMatchObject({ missing: 0, partly: 2 });
  expect(gapsOfPeriod(columnsOf({}, today, today), today)).toMatchObject({ firstName: undefined, begun: 0 });
});
