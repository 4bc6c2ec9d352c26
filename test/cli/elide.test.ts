import { expect, test } from 'vitest';
import { elide } from '../../src/cli/explain/readings-view.ts';

/** The rows of so many items: each item, or how many are left out. */
function shown(count: number, special: readonly number[] = [], all = false): Array<number | string> {
  const items = Array.from({ length: count }, (_, index) => index);
  const rows = elide(items, (item) => special.includes(item), { all });
  return rows.map((row) => (row.kind === 'item' ? row.item : `${row.count} more`));
}

test('up to twelve items are shown, and of more the two at each end', () => {
  expect(shown(12)).toHaveLength(12);
  expect(shown(13)).toEqual([0, 1, '9 more', 11, 12]);
  expect(shown(13, [], true)).toHaveLength(13);
});

test('a special item is shown with its neighbours', () => {
  expect(shown(20, [8, 10])).toEqual([0, 1, '5 more', 7, 8, 9, 10, 11, '6 more', 18, 19]);
});

test('at most 60 items and the last ones are shown', () => {
  const items = Array.from({ length: 100 }, (_, index) => index);
  expect(shown(100, items)).toEqual([...items.slice(0, 60), '38 more', 98, 99]);
  expect(shown(100, items, true)).toHaveLength(100);
});
