import { expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { listQuarantine } from '../../src/warehouse/list-quarantine.ts';
import { batchOf, columnsOf } from './batches.ts';
import { openTestShard } from './warehouse-fixture.ts';

const row = 'garage;01.07.2024 00:00;1,5 kWh à 20 °C\r\n';
/** Longer than a sample, and cut within a character. */
const long = `x${'é'.repeat(300)}`;

test.each<[string, Uint8Array | string, string, 'text' | 'hex']>([
  ['a row of a CSV file', row, row, 'text'],
  ['JSON', '{"a":1}', '{"a":1}', 'text'],
  ['text that is cut', long, `x${'é'.repeat(255)}`, 'text'],
  ['text in another encoding', Buffer.from('20 °C', 'latin1'), '323020b043', 'hex'],
  ['text that ends within a character', Buffer.from('é').subarray(0, 1), 'c3', 'hex'],
  ['text with a control character', 'a\u001b[31m', '611b5b33316d', 'hex'],
  ['CBOR', encodeCbor({ a: 'text' }), 'a161616474657874', 'hex'],
  ['nothing', '', '', 'text'],
])('a sample of the quarantine shows %s as text if it is text', async (_, bytes, text, encoding) => {
  const shard = await openTestShard();
  const rejected = [{ offset: 1n, reason: 'bad_time', detail: 'no time', bytes: Buffer.from(bytes) }];
  await shard.land(batchOf(0, 0, { columns: columnsOf([], rejected), nextOffset: 2n }));
  const { groups } = await shard.read((connection) => listQuarantine(connection, { samplesMax: 1 }));
  expect(groups).toMatchObject([
    { reason: 'bad_time', samples: [{ text, encoding, byteCount: Buffer.from(bytes).length }] },
  ]);
});
