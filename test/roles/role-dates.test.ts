import { expect, test } from 'vitest';
import { anyDayOf, includesDay, overlap, splitIntoSpans } from '../../src/roles/role-dates.ts';

test('spans overlap if they have a day in common, whichever comes first', () => {
  const april = { to: '2026-04-30' };
  const overlaps = (one: object, other: object) => [overlap(one, other), overlap(other, one)];
  expect(overlaps(april, { from: '2026-04-30' })).toEqual([true, true]);
  expect(overlaps(april, { from: '2026-05-01' })).toEqual([false, false]);
  expect(overlaps({ from: '2026-05-01', to: '2026-05-01' }, {})).toEqual([true, true]);
});

test('a span includes its first and its last day', () => {
  const may = { from: '2026-05-01', to: '2026-05-31' };
  const included = ['2026-04-30', '2026-05-01', '2026-05-31', '2026-06-01'].map((day) =>
    includesDay(may, day),
  );
  expect(included).toEqual([false, true, true, false]);
  expect(includesDay({}, '2026-05-01')).toBe(true);
});

test('all days are split where a span begins, and after one ends', () => {
  expect(splitIntoSpans([])).toEqual([{ from: undefined, to: undefined }]);
  const spans = splitIntoSpans([
    { from: '2026-05-01', to: '2026-05-31' },
    { from: '2026-06-01' },
    { to: '2026-02-28' },
  ]);
  expect(spans).toEqual([
    { from: undefined, to: '2026-02-28' },
    { from: '2026-03-01', to: '2026-04-30' },
    { from: '2026-05-01', to: '2026-05-31' },
    { from: '2026-06-01', to: undefined },
  ]);
  for (const span of [...spans, {}]) expect(includesDay(span, anyDayOf(span))).toBe(true);
});
