import { expect, test } from 'vitest';
import { interval, intervals, withShard } from './store-fixture.ts';

test(
  'finer intervals replace a longer one if they cover all of it, and are refused if they would cut it',
  { tags: ['slow'] },
  () =>
    withShard(async ({ store, current }) => {
      await store(intervals(interval(0, 4, 400), interval(4, 4, 80)));
      const refused = await store(intervals(interval(0, 1, 100), interval(1, 1, 100)));
      expect(refused).toMatchObject({ kind: 'refused', count: 1 });
      expect(refused.kind === 'refused' && refused.problems[0]).toMatchObject({
        line: 2,
        message: expect.stringMatching(
          /covers only a part of a period that was uploaded at 2026-11-20T12:00.*from 2026-05-31T22:00.*upload the whole period/,
        ),
      });
      const finer = intervals(interval(0, 1, 100), interval(1, 3, 350));
      expect(await store(finer)).toMatchObject({ stored: 2, replaced: 1 });
      expect(await current()).toEqual([
        [0, 1, 100, 'measured', 2],
        [1, 4, 350, 'measured', 2],
        [4, 8, 80, 'measured', 1],
      ]);
    }),
);

test.each([
  ['at its start and its end', [interval(0, 2, 200), interval(2, 1, 100)]],
  ['at its start', [interval(0, 3, 300)]],
  ['at its end', [interval(1, 3, 300)]],
  ['in its middle', [interval(1, 1, 100), interval(2, 1, 100)]],
  ['across its start', [interval(-1, 4, 400)]],
])('a longer interval of which an hour would be lost is not replaced by others %s', (_, rows) =>
  withShard(async ({ store, current }) => {
    await store(intervals(interval(0, 4, 400)));
    expect(await store(intervals(...rows))).toMatchObject({ kind: 'refused', count: 1 });
    expect(await current()).toEqual([[0, 4, 400, 'measured', 1]]);
  }),
);

test(
  'an interval replaces all current ones that it covers, also those that begin or end with it',
  { tags: ['slow'] },
  () =>
    withShard(async ({ store, current }) => {
      await store(intervals(interval(0, 1, 10), interval(1, 1, 20), interval(2, 1, 30), interval(3, 1, 40)));
      expect(await store(intervals(interval(0, 3, 66)))).toMatchObject({
        stored: 1,
        replaced: 3,
        revision: 2,
      });
      expect(await current()).toEqual([
        [0, 3, 66, 'measured', 2],
        [3, 4, 40, 'measured', 1],
      ]);
    }),
);

test('intervals that only touch a current interval are stored beside it', () =>
  withShard(async ({ store, current }) => {
    await store(intervals(interval(1, 1, 100)));
    const beside = intervals(interval(0, 1, 10), interval(2, 1, 20));
    expect(await store(beside)).toMatchObject({ kind: 'stored', stored: 2, replaced: 0, revision: 1 });
    expect(await current()).toEqual([
      [0, 1, 10, 'measured', 1],
      [1, 2, 100, 'measured', 1],
      [2, 3, 20, 'measured', 1],
    ]);
  }));
