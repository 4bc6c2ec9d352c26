import fc from 'fast-check';
import { expect, test } from 'vitest';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { keepNew } from '../../src/client/keep-new.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { rounds } from '../support/rounds.ts';

/** Messages that differ in every column. */
const messages: fc.Arbitrary<object[]> = fc.array(
  fc.record({
    table: fc.constantFrom('solar', 'grid'),
    device: fc.uuid(),
    source: fc.constantFrom(null, 'east', 'west'),
    event_time: fc.integer({ min: 0, max: 2 ** 45 }),
    store_time: fc.integer({ min: 0, max: 2 ** 45 }),
    msg_id: fc.option(fc.nat(), { nil: undefined }),
    data: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof(fc.integer(), fc.constant('text')), {
      maxKeys: 3,
    }),
  }),
  { maxLength: 12 },
);

test('the kept messages are whole and in the requested order, and nothing else remains', () => {
  fc.assert(
    fc.property(
      messages,
      fc.infiniteStream(fc.nat()),
      fc.infiniteStream(fc.boolean()),
      (given, keys, choices) => {
        const names = createNameTable();
        const columns = messagesToColumns(
          given.map((message, offset) => ({ ...message, offset })),
          names,
        );
        const before = columnsToMessages(columns, names);
        const rows = before
          .map((_, row) => ({ row, key: keys.next().value as number }))
          .filter(() => choices.next().value)
          .sort((left, right) => left.key - right.key)
          .map(({ row }) => row);
        keepNew(columns, { rows: Uint32Array.from(rows), afterOffset: undefined, throughOffset: undefined });
        expect(columnsToMessages(columns, names)).toEqual(rows.map((row) => before[row]));
        expect(columns.other.size).toBeLessThanOrEqual(rows.length);
        expect(columns.fieldStart[0]).toBe(0);
      },
    ),
    { numRuns: rounds(200, 500) },
  );
});

test('rejected messages are dropped if they were delivered or will come again, and kept without an offset', () => {
  const columns = messagesToColumns(
    [{ offset: 3 }, { offset: 4 }, { offset: 5 }, 'nothing'],
    createNameTable(),
  );
  keepNew(columns, { rows: 'all', afterOffset: 3n, throughOffset: 4n });
  expect(columns.rejected.map(({ offset }) => offset)).toEqual([4n, undefined]);
});
