import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DailyEnergy, DayDetails } from '../../src/web/facts/answers.ts';
import { seriesColumns } from '../../src/web/facts/energy-columns.ts';
import { compareColumns, gapsOfPeriod } from '../../src/web/facts/period-facts.ts';
import { listDays, shiftDay } from '../../src/web/words/local-days.ts';
import { grainOf, periodBefore, yearBefore } from '../../src/web/words/periods.ts';
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

test('a day that is not over is not compared', () => {
  const yesterday = shiftDay(today, -1);
  const days = { [yesterday]: { a: 8 }, [today]: { a: 1 } };
  const before = { [shiftDay(today, -3)]: { a: 10 }, [shiftDay(today, -2)]: { a: 10 } };
  const compared = columnsOf(before, shiftDay(today, -3), shiftDay(today, -2));
  expect(compareColumns(columnsOf(days, yesterday, today), compared)).toEqual({
    columnCount: 1,
    nowWh: 8,
    beforeWh: 10,
  });
});

test('if each day, month or year has the same energy, another period has as much as any period', {
  tags: ['slow'],
}, () => {
  const place = fc.integer({ min: -1_000, max: 400 }).map((days) => shiftDay(today, days));
  const length = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 1_826 }));
  const sizeOf = { day: 10, month: 7, year: 4 };
  const firstDay = shiftDay(today, -5_000);
  const past = listDays(firstDay, today);
  fc.assert(
    fc.property(place, length, fc.constantFrom(periodBefore, yearBefore), (from, days, otherOf) => {
      const period = { from, to: shiftDay(from, days - 1) };
      const grain = grainOf(period);
      const counts = Map.groupBy(listDays(firstDay, shiftDay(today, 400)), (day) =>
        day.slice(0, sizeOf[grain]),
      );
      const energy = (of: typeof period) =>
        Object.fromEntries(
          past
            .filter((day) => day >= of.from && day <= of.to)
            .map((day) => [day, { a: 1 / counts.get(day.slice(0, sizeOf[grain]))!.length }]),
        );
      const columns = (of: typeof period) =>
        seriesColumns(
          energy(of),
          () => true,
          (key) => key,
          { period: of, grain, today },
        );
      const [now, other] = [columns(period), columns(otherOf(period))];
      // Only the days of two months can be of different numbers.
      if (grain !== 'day') expect(other.columns.length).toBe(now.columns.length);
      const { columnCount, nowWh, beforeWh } = compareColumns(now, other);
      expect(nowWh).toBeCloseTo(columnCount);
      expect(beforeWh).toBeCloseTo(columnCount);
      // Only the first, the last and the running column can be cut.
      const over = now.columns.filter(({ key }) => key < today.slice(0, key.length)).length;
      const both = Math.min(over, other.columns.length);
      expect(columnCount).toBeGreaterThanOrEqual(both - (grain === 'day' ? 0 : 2));
    }),
    { numRuns: 60 },
  );
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
