import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { type EncodedBatch, encodeMessages } from '../../../src/contract/encode-messages.ts';
import { checkItems } from '../../../src/stream/ingest/check-items.ts';
import { copyItems } from '../../../src/stream/ingest/copy-items.ts';
import { readItems } from '../../../src/stream/ingest/read-items.ts';
import { decodeCborSequence } from '../../support/decode-cbor-sequence.ts';
import { deviceId, telemetry, wideTelemetry } from '../../support/messages.ts';
import { rounds } from '../../support/rounds.ts';

/** The reference: every value is decoded, checked and encoded again. */
function throughValues(body: Uint8Array): EncodedBatch | undefined {
  try {
    const checked = checkItems(readItems(body, 'application/cbor'), 'solar', 'all');
    return checked.kind === 'valid' ? encodeMessages(checked.items, 'solar') : undefined;
  } catch {
    return undefined;
  }
}

const decodedMessages = (batch: EncodedBatch) => decodeCborSequence(batch.bytes);

/** Checks that copied messages equal the reference. Returns true if the body was copied. */
function agrees(body: Uint8Array): boolean {
  const copied = copyItems(body, 'solar', 'all');
  if (copied === undefined) return false;
  const reference = throughValues(body);
  if (reference === undefined)
    expect.unreachable(`copied what is refused: ${Buffer.from(body).toString('hex')}`);
  expect(decodedMessages(copied)).toEqual(decodedMessages(reference));
  expect([copied.count, copied.tables, copied.devices]).toEqual([
    reference.count,
    reference.tables,
    reference.devices,
  ]);
  const each = (batch: EncodedBatch) =>
    Array.from({ length: batch.count }, (_, index) =>
      decodedMessages({
        ...batch,
        bytes: batch.bytes.subarray(batch.starts[index]!, batch.starts[index + 1]!),
      }),
    );
  expect(each(copied)).toEqual(each(reference));
  return true;
}

/** CBOR heads in every width that can hold the value. */
function head(major: number, value: number | bigint, width: number): Buffer {
  const number = BigInt(value);
  if (width === 0 && number < 24n) return Buffer.from([(major << 5) | Number(number)]);
  const size = Math.max(
    width,
    number < 0x100n ? 1 : number < 0x1_0000n ? 2 : number < 0x1_0000_0000n ? 4 : 8,
  );
  const bytes = Buffer.alloc(9);
  bytes.writeBigUInt64BE(number, 1);
  const info = { 1: 24, 2: 25, 4: 26, 8: 27 }[size]!;
  return Buffer.concat([Buffer.from([(major << 5) | info]), bytes.subarray(9 - size)]);
}

const width = fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2, 4, 8));
const headOf = (major: number, value: fc.Arbitrary<number | bigint>) =>
  fc.tuple(value, width).map(([number, bytes]) => head(major, number, bytes));
const textOf = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, width).map(([value, bytes]) => {
    const utf8 = Buffer.from(value);
    return Buffer.concat([head(3, utf8.length, bytes), utf8]);
  });
const float64 = (value: number) => {
  const bytes = Buffer.from([0xfb, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeDoubleBE(value, 1);
  return bytes;
};
const hex = (text: string) => fc.constant(Buffer.from(text, 'hex'));
const odd = fc.oneof(
  hex('ff'),
  hex('f7'),
  hex('f97c00'),
  hex('fa7f800000'),
  hex('fb7ff8000000000000'),
  hex('fbfff0000000000000'),
  hex('80'),
  hex('a0'),
  hex('4100'),
  hex('c100'),
  hex('7fff'),
  hex('bfff'),
  hex('1bffffffffffffffff'),
  hex('f800'),
);
const usual = (arbitrary: fc.Arbitrary<Buffer>) =>
  fc.oneof({ weight: 150, arbitrary }, { weight: 1, arbitrary: odd });

const time = fc.oneof(
  { weight: 30, arbitrary: headOf(0, fc.integer({ min: 0, max: 2 ** 41 })) },
  fc.integer({ min: -1, max: 2 ** 41 }).map(float64),
  fc.constantFrom(-0, 0.5, 2 ** 53, 253_402_300_799_999, 253_402_300_800_000).map(float64),
  headOf(0, fc.constantFrom(253_402_300_799_999, 253_402_300_800_000)),
  hex('3a00000001'),
);
const messageId = fc.oneof(
  { weight: 20, arbitrary: time },
  hex('f6'),
  headOf(0, fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 64n - 1n)),
);
const value = fc.oneof(
  { weight: 20, arbitrary: headOf(0, fc.nat()) },
  { weight: 20, arbitrary: headOf(1, fc.nat()) },
  headOf(0, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  headOf(1, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  { weight: 20, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(float64) },
  fc.double().map(float64),
  hex('f93e00'),
  hex('f9fe00'),
  hex('fa3fc00000'),
  fc.constantFrom('f4', 'f5', 'f6').map((text) => Buffer.from(text, 'hex')),
  textOf(fc.oneof(fc.string({ maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 10 }))),
  textOf(fc.constantFrom(4_096, 4_097).map((length) => 'x'.repeat(length))),
);
const name = fc.oneof(
  { weight: 80, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
  fc.string({ unit: 'grapheme', maxLength: 3 }),
  fc.constantFrom('', '__proto__', '__power', 'x'.repeat(128), 'x'.repeat(129), 'same', 'same'),
);
const data = fc
  .tuple(fc.array(fc.tuple(usual(textOf(name)), usual(value)), { maxLength: 8 }), width)
  .map(([fields, bytes]) => Buffer.concat([head(5, fields.length, bytes), ...fields.flat()]));
const uuid = fc.oneof(
  { weight: 30, arbitrary: fc.uuid() },
  fc.uuid().map((id) => id.toUpperCase()),
  fc.constantFrom(
    `${deviceId(1)}0`,
    deviceId(1).slice(1),
    deviceId(1).replace('-', '0'),
    deviceId(1).replace('0', 'g'),
  ),
);
const member = (key: string, content: fc.Arbitrary<Buffer>) =>
  usual(content).map((bytes) => Buffer.concat([encodeCbor(key), bytes]));
const item = fc
  .tuple(
    fc.oneof(
      { weight: 15, arbitrary: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }) },
      fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 2 }),
      fc.constantFrom([0, 2, 4], [4, 2, 0, 1], [0, 2, 4, 2], [0, 0, 2, 4]),
    ),
    fc.tuple(
      member('device', textOf(uuid)),
      member('source', fc.oneof(textOf(name), hex('f6'))),
      member('event_time', time),
      member('msg_id', messageId),
      member('data', data),
    ),
  )
  .map(([order, members]) =>
    Buffer.concat([head(5, order.length, 0), ...order.map((index) => members[index]!)]),
  );
const body = fc
  .array(item, { minLength: 1, maxLength: 3 })
  .map((items) => Buffer.concat([head(4, items.length, 0), ...items]));

describe('copying telemetry', () => {
  test('gives the same messages as decoding and encoding, for any form of CBOR', () => {
    let copied = 0;
    fc.assert(
      fc.property(body, (bytes) => {
        if (agrees(bytes)) copied++;
      }),
      { numRuns: rounds(1_000, 4_000) },
    );
    expect(copied).toBeGreaterThan(rounds(75, 300));
  });

  test('refuses what the decoder refuses when bytes are changed, lost or added', () => {
    const good = encodeCbor(telemetry(2));
    for (let at = 0; at < good.length; at++) {
      for (const byte of [
        0x00,
        0x01,
        0x1b,
        0x5f,
        0x7f,
        0x80,
        0xa0,
        0xbf,
        0xf6,
        0xf7,
        0xff,
        good[at]! + 1,
        good[at]! ^ 0x20,
      ])
        agrees(good.with(at, byte));
      expect(copyItems(good.subarray(0, at), 'solar', 'all')).toBeUndefined();
    }
    expect(copyItems(Buffer.concat([good, Buffer.from([0])]), 'solar', 'all')).toBeUndefined();
  });

  test('is used for ordinary requests, byte for byte', () => {
    for (const items of [
      telemetry(3),
      wideTelemetry(500),
      telemetry(30).map(({ source: _, ...rest }) => rest),
    ]) {
      const encoded = encodeCbor(items);
      expect(agrees(encoded)).toBe(true);
      expect(Buffer.compare(copyItems(encoded, 'solar', 'all')!.bytes, throughValues(encoded)!.bytes)).toBe(
        0,
      );
    }
  });

  test('leaves devices that the caller may not write for to the decoder', () => {
    const encoded = encodeCbor([...telemetry(1, { device: 1 }), ...telemetry(1, { device: 2 })]);
    expect(copyItems(encoded, 'solar', new Set([deviceId(1)]))).toBeUndefined();
    expect(copyItems(encoded, 'solar', new Set([deviceId(1), deviceId(2)]))).toMatchObject({ count: 2 });
  });

  test('leaves items beyond the limits to the decoder', () => {
    const tooMany = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`f${index}`, index]));
    expect(copyItems(encodeCbor([{ ...telemetry(1)[0], data: tooMany }]), 'solar', 'all')).toBeUndefined();
    const one = telemetry(1)[0]!;
    expect(copyItems(encodeCbor(Array.from({ length: 10_001 }, () => one)), 'solar', 'all')).toBeUndefined();
    expect(copyItems(encodeCbor([]), 'solar', 'all')).toBeUndefined();
  });
});
