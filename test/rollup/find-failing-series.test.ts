import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StaleOwnerError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { describeFailure, findFailingSeries, mayComeFromData } from '../../src/rollup/find-failing-series.ts';
import type { SeriesKey } from '../../src/rollup/set-aside.ts';

const keyOf = (index: number): SeriesKey => ({
  stream_id: index,
  device: '00000000-0000-4000-8000-000000000001',
  source: 'default',
});

test('all series that fail are found, alone or only together, and few trials are needed for each', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 300 }),
      fc.uniqueArray(fc.nat(299), { maxLength: 5 }),
      fc.option(fc.tuple(fc.nat(299), fc.nat(299)), { nil: undefined }),
      async (count, alone, together) => {
        const series = Array.from({ length: count }, (_, index) => keyOf(index));
        const isFailing = (indexes: ReadonlySet<number>) =>
          alone.some((one) => indexes.has(one)) || together?.every((one) => indexes.has(one)) === true;
        fc.pre(isFailing(new Set(series.keys())));
        const error = new Error('beyond');
        let trials = 0;
        const found = await findFailingSeries(series, async (included) => {
          trials++;
          return isFailing(new Set(included.map(({ stream_id }) => stream_id))) ? error : undefined;
        });
        const names = new Set(found.map(({ key }) => key.stream_id));
        // Without them nothing fails, and with any one of them something does, in their order.
        const left = new Set(series.map(({ stream_id }) => stream_id).filter((one) => !names.has(one)));
        expect(isFailing(left)).toBe(false);
        for (const one of names) expect(isFailing(new Set([...left, one]))).toBe(true);
        expect(found.every((one) => one.error === error)).toBe(true);
        expect(names.size).toBe(found.length);
        expect(trials).toBeLessThanOrEqual(1 + found.length * (2 + Math.ceil(Math.log2(count) + 1)));
      },
    ),
  );
});

test('a failure that does not come again sets nothing aside', async () => {
  expect(await findFailingSeries([keyOf(1), keyOf(2)], async () => undefined)).toEqual([]);
});

test.each([
  [new StaleOwnerError('acme', 1n, 2n), false],
  [new TerminalError('WarehouseDamaged', 'the file is damaged'), false],
  [new TransientError('DiskFull', 'the disk is full'), false],
  [new Error('INTERRUPT Error: Interrupted!'), false],
  [new Error('Out of Range Error: Overflow in multiplication'), true],
  ['a text', true],
])('%s: it may come from the data: %s', (error, expected) => {
  expect(mayComeFromData(error)).toBe(expected);
});

test.each([
  ['Out of Range Error: Overflow in multiplication of 7 * 8', 'a number is beyond what can be computed'],
  ['Conversion Error: Type INT64 with value 7 is out of range', 'a number is beyond what can be computed'],
  ['Constraint Error: NOT NULL constraint failed: 7', 'stored rows contradict each other'],
  ['Invalid Input Error: duplicate key 7', 'stored rows contradict each other'],
  ['INTERNAL Error: vector 7', 'the database failed'],
  ['FATAL Error: 7', 'the database failed'],
  ['Conversion Error: Could not convert 7', 'a value cannot be read'],
  ['Invalid Input Error: 7', 'a value cannot be read'],
  ['something else with 7', 'the computation failed'],
])('of "%s" people read the kind and the statement, and no value', (text, words) => {
  expect(describeFailure(new Error(text))).toBe(words);
  expect(describeFailure(Object.assign(new Error(text), { statement: 'collect_pairs' }))).toBe(
    `${words} (in collect_pairs)`,
  );
  expect(describeFailure(text)).toBe(words);
});
