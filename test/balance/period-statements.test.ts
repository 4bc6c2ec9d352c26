import { expect, test } from 'vitest';
import { balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

/** A day: Wh of production, yield, whether it has a peak and is incomplete, and the rest of the site. */
type Day = [
  day: number,
  wh: number | null,
  ofYield: number | null,
  hasPeak: boolean,
  isIncomplete: boolean,
  rest: number,
];

/** The month of these days. */
async function monthOf(...days: Day[]) {
  const [month] = await readStatements(
    {
      period_digits: ['period_digits', '7'],
      day_level: [
        `scope_id, period, production_wh, production_gap, computed, is_netted, is_undetermined, is_estimated,
          is_shapeless, tolerance, yield, has_peak, is_peak_unknown, is_incomplete, intervals, known_intervals, rest`,
        ...days.map(
          ([day, wh, ofYield, hasPeak, isIncomplete, rest]) =>
            `'s', '2026-11-0${day}', ${wh}::BIGINT, false, ['production'], false, false, false,
              false, 20, ${ofYield}::DOUBLE, ${hasPeak}, false, ${isIncomplete}, 96, 96, MAP {'site': ${rest}}`,
        ),
      ],
    },
    { level: 'sum_periods' },
    "production_wh::DOUBLE, rest['site']::DOUBLE, days, complete_days, coalesce(is_peak_unknown, false)",
  );
  return month;
}

test('a month is the sum of its complete days, with their rest, and counts the others', async () => {
  expect(
    await monthOf(
      [1, 10, null, false, false, 3],
      [2, 20, null, false, false, 4],
      [3, 7, null, false, true, 100],
    ),
  ).toEqual([30, 7, 3, 2, false]);
  expect(await monthOf([1, 10, null, false, true, 3])).toEqual([null, null, 1, 0, false]);
});

test('the peak of a month is unknown if it is on a day with production, beside days with a peak', async () => {
  const withPeak: Day = [1, 10, 2, true, false, 0];
  expect((await monthOf(withPeak, [2, 10, null, false, false, 0]))!.at(-1)).toBe(true);
  expect((await monthOf(withPeak, [2, null, null, false, false, 0]))!.at(-1)).toBe(false);
});

/** A day of the workgroup: place, Wh, peak power, and whether it has one. */
type OwnDay = [day: number, wh: number, kwp: number | null, hasPeak: boolean];

/** A day of another zone with one interval of each of these days of the workgroup. */
async function zoneDayOf(...ownDays: OwnDay[]) {
  const [day] = await readStatements(
    {
      interval_sum: [
        `scope_id, own_day, day, at_ms, production_wh, production_gap, computed, is_complete, is_netted, is_undetermined,
          is_estimated, is_shapeless, tolerance, kwp, has_peak`,
        ...ownDays.map(
          ([own, wh, kwp, hasPeak]) =>
            `'s', DATE '2026-11-0${own}', DATE '2026-11-09', ${own}, ${wh}, false, ['production'], true, false, false,
              false, false, ${20 + own}, ${kwp}::DOUBLE, ${hasPeak}`,
        ),
      ],
      rest: ['scope_id, day, at_ms, container, rest_wh', "'other', DATE '2026-11-09', 0, 'site', 1"],
    },
    { level: 'sum_days' },
    'production_wh::DOUBLE, intervals, tolerance, yield, is_peak_unknown',
  );
  return day;
}

test('a day of several days of the workgroup has the yield of each, and the largest tolerance', async () => {
  expect(await zoneDayOf([1, 4_000, 4, true], [2, 4_000, 8, true])).toEqual([8_000, 2, 22, 1.5, false]);
});

test('without a peak the yield is 0 if nothing was produced, else unknown', async () => {
  expect(await zoneDayOf([1, 0, null, false], [2, 4_000, 8, true])).toEqual([4_000, 2, 22, 0.5, false]);
  expect(await zoneDayOf([1, 1, null, false], [2, 4_000, 8, true])).toEqual([4_001, 2, 22, null, true]);
  expect(await zoneDayOf([1, 0, null, true], [2, 4_000, 8, true])).toEqual([4_000, 2, 22, null, true]);
});
