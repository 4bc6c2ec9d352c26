import { expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { encodeMessages, stampMessages } from '../../src/contract/encode-messages.ts';
import { createMessageDecoder } from '../../src/decode/message-decoder.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { jsonText } from '../../src/lib/json-text.ts';
import { decodeParts, deviceId } from '../support/messages.ts';

/** Telemetry messages with these fields. */
function messagesWith(...fields: Array<Record<string, number | string>>) {
  const items = fields.map((data) => ({ device: deviceId(1), event_time: 1, data }));
  const batch = encodeMessages(items, 'solar');
  stampMessages(batch, 1n << 40n, 1_800_000_000_000);
  return decodeParts([batch.bytes]);
}

test.each([
  ['CBOR', (messages: unknown[]) => encodeCbor({ messages })],
  ['JSON', (messages: unknown[]) => Buffer.from(jsonText({ messages }))],
])(
  'of more names than allowed, %s messages with a new name are set aside, and all others land',
  (_, body) => {
    // The table `solar` is also a name.
    const names = createNameTable([], { namesMax: 3 });
    const decoder = createMessageDecoder(names);
    const messages = messagesWith(
      { a: 1 },
      { b: 2, a: 3 },
      { c: 4, a: 5 },
      { a: 6, b: 7 },
      { d: 'text', b: 8 },
    );
    for (let round = 0; round < 2; round++) {
      const decoded = decoder.decode(body(messages));
      if (decoded.kind !== 'batch') throw new Error(decoded.error);
      const { columns } = decoded;
      const fields = columnsToMessages(columns, names).map((message) => 'data' in message && message.data);
      expect(fields).toEqual([{ a: 1 }, { b: 2, a: 3 }, { a: 6, b: 7 }, { d: 'text', b: 8 }]);
      expect(columns.rejected).toMatchObject([
        {
          offset: BigInt(messages[2]!.offset),
          reason: 'too_many_names',
          detail: expect.stringContaining('has 3 names of tables, sources and fields already'),
        },
      ]);
    }
    expect(names.takeNew().names.map(({ name }) => name)).toHaveLength(3);
  },
);

test('the limit of tables holds for names that are tables, and known and needed tables are taken beyond it', () => {
  const known = ['solar', 'wind', 'power'].map((name, id) => ({ id, name }));
  const names = createNameTable(known, { tables: ['solar', 'wind'], neededTables: ['grid'], tablesMax: 2 });
  expect(names.takesTable('power')).toBe(false);
  expect(() => names.tableIdOf('power')).toThrow('has 2 tables already');
  expect([names.idOf('power'), names.tableIdOf('wind'), names.takesTable('grid')]).toEqual([2, 1, true]);
  const fresh = names.idOf('other');
  expect([names.tableIdOf('grid'), fresh]).toEqual([4, 3]);
  expect(names.takeNew()).toEqual({
    names: [
      { id: 3, name: 'other' },
      { id: 4, name: 'grid' },
    ],
    tables: [4],
  });
});

test('known names keep their ids, also beyond the limit', () => {
  const names = createNameTable(
    [
      { id: 3, name: 'a' },
      { id: 7, name: 'b' },
    ],
    { namesMax: 1 },
  );
  expect([names.idOf('a'), names.idOf('b'), names.takes('b'), names.takes('c')]).toEqual([3, 7, true, false]);
  expect(() => names.idOf('c')).toThrow('has 1 names');
});
