import { expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { listQuarantine } from '../../src/warehouse/list-quarantine.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { batchOf, columnsOf } from './batches.ts';
import { openTestShard } from './warehouse-fixture.ts';

const row = 'garage;01.07.2024 00:00;1,5 kWh à 20 °C\r\n';
/** Longer than a sample, and cut within a character. */
const long = `x${'é'.repeat(300)}`;

const messages: Array<[what: string, bytes: Uint8Array | string, text: string, encoding: 'text' | 'hex']> = [
  ['a row of a CSV file', row, row, 'text'],
  ['JSON', '{"a":1}', '{"a":1}', 'text'],
  ['text that is cut', long, `x${'é'.repeat(255)}`, 'text'],
  ['text in another encoding', Buffer.from('20 °C', 'latin1'), '323020b043', 'hex'],
  ['text that ends within a character', Buffer.from('é').subarray(0, 1), 'c3', 'hex'],
  ['text with a control character', 'a\u001b[31m', '611b5b33316d', 'hex'],
  ['CBOR', encodeCbor({ a: 'text' }), 'a161616474657874', 'hex'],
  ['nothing', '', '', 'text'],
];

/** A quarantine with each of these messages under its own reason. */
const shard = shared(async () => {
  const opened = await openTestShard();
  const rejected = messages.map(([reason, bytes], index) => ({
    offset: BigInt(index),
    reason,
    detail: 'no time',
    bytes: Buffer.from(bytes),
  }));
  await opened.land(batchOf(0, 0, { columns: columnsOf([], rejected), nextOffset: 100n }));
  await opened.transaction(async (connection) => {
    const [one, two] = [deviceId(1), deviceId(2)];
    await connection.run(
      `INSERT INTO quarantine BY NAME SELECT * FROM (VALUES (1, 5, 10, UUID '${one}'), (2, 6, 10, NULL), (2, 7, 10, UUID '${one}'), (3, 1, 9, UUID '${two}'))
         AS told (batch_id, stream_offset, quarantined_at_ms, device), (SELECT 'land' AS stage, 'odd' AS reason)`,
    );
    const samples = (...times: number[]) =>
      `[${times.map((ms) => `{'event_time_ms': ${ms}, 'stream_offset': 1, 'batch_id': 1, 'text': repeat('${ms % 10}', 600)}`)}]`;
    await connection.run(
      `INSERT INTO rejected_reading BY NAME SELECT * FROM (VALUES
         (1, UUID '${one}', 30, 3, 40, ${samples(35, 31, 33)}), (2, UUID '${one}', 20, 11, 22, ${samples(22)}))
         AS told (day_start_ms, device, readings, first_ms, last_ms, samples),
         (SELECT 0 AS import_id, 'roof' AS source, 'f' AS field, 'spike' AS reason)`,
    );
    await connection.run(
      `INSERT INTO energy_stream BY NAME SELECT 1 AS stream_id, '{"field":"wh"}' AS identity, 0 AS batch_id`,
    );
    await connection.run(
      `INSERT INTO set_aside VALUES (1, '${one}', 'roof', 5, 'it failed', 'v'), (1, '${two}', 'roof', 6, 'it failed', 'v')`,
    );
  });
  return opened;
});

const list = (samplesMax: number, devices?: string[]) =>
  shard().read((connection) => listQuarantine(connection, { samplesMax, devices }));

test.each(messages)(
  'a sample of the quarantine shows %s as text if it is text',
  async (what, bytes, text, encoding) => {
    const { groups } = await list(1);
    expect(groups.find(({ reason }) => reason === what)).toMatchObject({
      samples: [{ text, encoding, byteCount: Buffer.from(bytes).length }],
    });
  },
);

test('the most frequent reason comes first, with its devices and its times', async () => {
  const { groups } = await list(0);
  expect(groups.slice(0, 3)).toMatchObject([
    { kind: 'reading', reason: 'spike', items: 50, devices: 1, firstMs: 3, lastMs: 40 },
    { kind: 'message', reason: 'odd', items: 4, devices: 2, firstMs: 9, lastMs: 10 },
    { kind: 'message', reason: 'CBOR', items: 1, devices: 0 },
  ]);
});

test('the samples of a reason are its newest messages, and the newest readings of its newest days', async () => {
  const { groups } = await list(3);
  const [spike, odd] = groups;
  expect(odd!.samples.map(({ device }) => device)).toEqual([deviceId(1), null, deviceId(1)]);
  expect(spike!.samples.map(({ eventTimeMs }) => eventTimeMs)).toEqual([22, 35, 33]);
  expect(spike!.samples[0]!.text).toBe('2'.repeat(512));
});

test('a reader of some devices sees only what names one of them', async () => {
  const { groups, setAside } = await list(9, [deviceId(2)]);
  expect(groups).toMatchObject([{ reason: 'odd', items: 1, devices: 1, samples: [{ device: deviceId(2) }] }]);
  expect(setAside).toEqual([
    { device: deviceId(2), source: 'roof', field: 'wh', sinceMs: 6, error: 'it failed' },
  ]);
  expect((await list(0)).setAside.map(({ device }) => device)).toEqual([deviceId(1), deviceId(2)]);
});
