import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
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

/** The time that this thread worked. */
function cpuMsSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

const request = (body: Uint8Array, type: 'application/json' | 'application/cbor' = 'application/json') => ({
  table: 'solar',
  type,
  body,
  devices: 'all' as const,
});

/** Much slower than other bodies. In the soak nearly as many fields as a body may have. */
const ITEMS = rounds(150, 850);

test('a body of many fields does not block the event loop or the body of another tenant', async () => {
  const encoder = setUp();
  const large = manyFields(ITEMS, 1_000);
  const other = manyFields(60, 200);
  const ended: string[] = [];
  const encoding = encoder.encode(request(large), 'acme').then((batch) => {
    ended.push('large');
    return batch;
  });
  const again = encoder.encode(request(other), 'acme').then(() => ended.push('the next'));
  const begun = process.threadCpuUsage();
  const others = encoder.encode(request(other), 'other').then(() => ended.push('other'));
  let turns = 0;
  while (ended.length === 0) {
    await sleep(1);
    turns++;
  }
  await others;
  const cpuHereMs = cpuMsSince(begun);
  expect(turns).toBeGreaterThan(0);
  expect(ended[0]).toBe('other');
  const batch = await encoding;
  await again;
  expect(ended).toEqual(['other', 'large', 'the next']);
  const begunEncoding = process.threadCpuUsage();
  const expected = encodeBody(request(large));
  expect(cpuHereMs).toBeLessThan(cpuMsSince(begunEncoding) / 2);
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  expect(digest(batch.bytes)).toBe(digest(expected.bytes));
  expect(batch.starts).toEqual(expected.starts);
  expect([batch.tables, batch.devices, batch.count]).toEqual([
    expected.tables,
    expected.devices,
    expected.count,
  ]);
});

test('small, usual and large bodies give the same messages and the same errors', async () => {
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

test('waiting bodies are refused when the service ends', async () => {
  const encoder = createBodyEncoder();
  const body = request(manyFields(ITEMS, 1_000));
  const bodies = Array.from({ length: 3 }, () => encoder.encode(body, 'acme'));
  const settled = Promise.allSettled(bodies);
  await encoder.close();
  const [running, ...waiting] = await settled;
  expect(running!.status).toBe('rejected');
  for (const one of waiting) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'Draining' } });
});
