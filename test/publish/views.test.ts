import { expect, test } from 'vitest';
import { analyticsViews } from '../../src/publish/analytics-views.ts';
import { datasets } from '../../src/publish/datasets.ts';

/** What the comment of a column with such a name must contain. */
const units: ReadonlyArray<[name: RegExp, unit: RegExp]> = [
  [/_wh$/, /\bWh\b/],
  [/_kwh$/, /\bkWh\b/],
  [/_ms$/, /\bms\b/],
  [/^coverage$/, /0 to 1/],
];

test('every dataset of the lake has a view', () => {
  const shown = new Set(analyticsViews.map(({ dataset }) => dataset));
  expect(Object.keys(datasets).filter((name) => !shown.has(name as keyof typeof datasets))).toEqual([]);
});

test.each(analyticsViews)('the view $name says what each of its columns is, with its unit', (view) => {
  expect(view.comment.length).toBeGreaterThan(20);
  for (const { name, type, comment } of view.columns) {
    expect([name, comment.trim().length > 0]).toEqual([name, true]);
    for (const [pattern, unit] of units)
      if (pattern.test(name)) expect([name, comment]).toEqual([name, expect.stringMatching(unit)]);
    if (/^(BIGINT|DOUBLE|INTEGER)$/.test(type) && /energy|power/.test(name))
      expect(name).toMatch(/_(k?wh|w)$/);
  }
});
