import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { DEVICE_STATUS_TABLE } from '../../../src/contract/messages.ts';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import { createBodyEncoder } from '../../../src/stream/ingest/body-encoder.ts';
import { encodeBody } from '../../../src/stream/ingest/encode-body.ts';
import { deviceId, telemetry, wideTelemetry } from '../../support/messages.ts';
import { rounds } from '../../support/rounds.ts';

function setUp() {
  const encoder = createBodyEncoder();
  onTestFinished(() => encoder.close());
  return encoder;
}

/** Many fields with different names, the slowest kind of body. */
function manyFields(items: number, fieldsPerItem: number): Buffer {
  const item = (index: number) => ({
    device: deviceId(1),
    event_time: 1_800_000_000_000,
    data: Object.fromEntries(
      Array.from({ length: fieldsPerItem }, (_, field) => [(index * fieldsPerItem + field).toString(36), 1]),
    ),
  });
  return Buffer.from(JSON.stringify(Array.from({ length: items }, (_, index) => item(index))));
}

/** A body of exactly this many bytes. */
function jsonOf(bytes: number): Buffer {
  return Buffer.from(manyFields(1, 1).toString().padEnd(bytes));
}

/** Telemetry of exactly this many bytes. The last item is the longest. */
function cborOf(bytes: number): Uint8Array {
  const [item] = telemetry(1);
  const encode = (notes: readonly number[]) =>
    encodeCbor(notes.map((length) => ({ ...item, data: { note: 'x'.repeat(length) } })));
  const notes = new Array<number>(Math.floor(bytes / encode([1_000]).length)).fill(1_000);
  return encode([...notes.slice(1), 1_000 + bytes - encode(notes).length]);
}

const request = (body: Uint8Array, type: 'application/json' | 'application/cbor' = 'application/json') => ({
  table: 'solar',
  type,
  body,
  devices: 'all' as const,
});

/** Much slower than other bodies. In the soak nearly as many fields as a body may have. */
const ITEMS = rounds(150, 850);

test('a body of many fields does not block the event loop or the body of another tenant', {
  tags: ['slow'],
}, async () => {
  const encoder = setUp();
  const large = manyFields(ITEMS, 1_000);
  const other = manyFields(60, 200);
  const ended: string[] = [];
  const encoding = encoder.encode(request(large), 'acme').then((batch) => {
    ended.push('large');
    return batch;
  });
  const again = encoder.encode(request(other), 'acme').then(() => ended.push('the next'));
  await encoder.encode(request(other), 'other').then(() => ended.push('other'));
  // Encoded on the event loop, the large body would have ended before the other one had begun.
  expect(ended).toEqual(['other']);
  const batch = await encoding;
  await again;
  expect(ended).toEqual(['other', 'large', 'the next']);
  const expected = encodeBody(request(large));
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  expect(digest(batch.bytes)).toBe(digest(expected.bytes));
  expect(batch.starts).toEqual(expected.starts);
  expect([batch.tables, batch.devices, batch.count]).toEqual([
    expected.tables,
    expected.devices,
    expected.count,
  ]);
});

test('small, usual and large bodies give the same messages and the same errors', {
  tags: ['slow'],
}, async () => {
  const encoder = setUp();
  const bodies = [
    request(encodeCbor(telemetry(3)), 'application/cbor'),
    request(encodeCbor(wideTelemetry(5_000)), 'application/cbor'),
    request(manyFields(2, 10)),
    request(manyFields(100, 200)),
    { ...request(encodeCbor(wideTelemetry(5_000)), 'application/cbor'), devices: new Set([deviceId(99)]) },
    request(Buffer.from(`[${'{"a":1},'.repeat(9_999)}{}]`)),
    request(Buffer.from(`[${'{"a":1},'.repeat(10_000)}{}]`)),
    request(Buffer.from(`[${'{"a":1},'.repeat(9_000)}?]`)),
  ];
  for (const [index, body] of bodies.entries()) {
    const [given, expected] = await Promise.allSettled([
      encoder.encode(body, 'acme'),
      (async () => encodeBody(body))(),
    ]);
    expect(given.status, String(index)).toBe(expected.status);
    if (given.status === 'fulfilled' && expected.status === 'fulfilled')
      expect(Buffer.from(given.value.bytes).equals(expected.value.bytes)).toBe(true);
    if (given.status === 'rejected' && expected.status === 'rejected')
      expect(given.reason.body()).toEqual(expected.reason.body());
  }
});

test('a body of up to 48 KiB is encoded at once, telemetry in CBOR of up to 1 MiB too', async () => {
  const encoder = createBodyEncoder();
  // It is in a thread, so the next body of this owner that needs a thread waits.
  const first = Promise.allSettled([encoder.encode(request(jsonOf(100_000)), 'acme')]);
  const status = (bytes: number) => ({
    ...request(cborOf(bytes), 'application/cbor'),
    table: DEVICE_STATUS_TABLE,
  });
  const bodies = [
    request(jsonOf(48 * 1024)),
    request(jsonOf(48 * 1024 + 1)),
    request(cborOf(MEBIBYTE), 'application/cbor'),
    request(cborOf(MEBIBYTE + 1), 'application/cbor'),
    status(48 * 1024),
    status(48 * 1024 + 1),
  ];
  expect(bodies.map(({ body }) => body.length % 1024)).toEqual([0, 1, 0, 1, 0, 1]);
  const answers = Promise.allSettled(bodies.map((body) => encoder.encode(body, 'acme')));
  await encoder.close();
  await first;
  const paths = (await answers).map((answer) =>
    answer.status === 'rejected' && answer.reason.code === 'Draining' ? 'waits' : 'at once',
  );
  expect(paths).toEqual(['at once', 'waits', 'at once', 'waits', 'at once', 'waits']);
});

test('waiting bodies are refused when the service ends', { tags: ['slow'] }, async () => {
  const encoder = createBodyEncoder();
  const body = request(manyFields(ITEMS, 1_000));
  const bodies = Array.from({ length: 3 }, () => encoder.encode(body, 'acme'));
  const settled = Promise.allSettled(bodies);
  await encoder.close();
  const [running, ...waiting] = await settled;
  expect(running!.status).toBe('rejected');
  for (const one of waiting) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'Draining' } });
});
