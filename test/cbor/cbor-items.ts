import { Decoder } from 'cbor-x';
import fc from 'fast-check';

/**
 * CBOR as other encoders write it: heads of any width, indefinite lengths, tags, repeated keys. A tree of
 * items lets a test choose the exact bytes.
 */
export type Item =
  | { is: 'integer'; value: bigint; width: HeadWidth }
  | { is: 'float'; value: number; width: 2 | 4 | 8 }
  | { is: 'text'; value: string; width: HeadWidth }
  | { is: 'bytes'; value: Uint8Array }
  | { is: 'simple'; value: number }
  | { is: 'array'; items: Item[]; width: HeadWidth | 'indefinite' }
  | { is: 'map'; members: Array<[Item, Item]>; width: HeadWidth | 'indefinite' }
  | { is: 'tag'; tag: number; item: Item };

/** The least number of bytes for the argument of a head. */
export type HeadWidth = 0 | 1 | 2 | 4 | 8;

export function itemBytes(item: Item): Buffer {
  switch (item.is) {
    case 'integer':
      return item.value >= 0n ? head(0, item.value, item.width) : head(1, -1n - item.value, item.width);
    case 'float':
      return floatBytes(item.value, item.width);
    case 'text': {
      const utf8 = Buffer.from(item.value, 'utf8');
      return Buffer.concat([head(3, BigInt(utf8.length), item.width), utf8]);
    }
    case 'bytes':
      return Buffer.concat([head(2, BigInt(item.value.length), 0), item.value]);
    case 'simple':
      return Buffer.from([0xe0 | item.value]);
    case 'array':
      return container(4, item.items.map(itemBytes), item.items.length, item.width);
    case 'map':
      return container(5, item.members.flat().map(itemBytes), item.members.length, item.width);
    case 'tag':
      return Buffer.concat([head(6, BigInt(item.tag), 0), itemBytes(item.item)]);
    default:
      return item satisfies never;
  }
}

function container(major: number, parts: Buffer[], count: number, width: HeadWidth | 'indefinite'): Buffer {
  if (width === 'indefinite') {
    return Buffer.concat([Buffer.from([(major << 5) | 31]), ...parts, Buffer.from([0xff])]);
  }
  return Buffer.concat([head(major, BigInt(count), width), ...parts]);
}

function head(major: number, argument: bigint, width: HeadWidth): Buffer {
  const needed =
    argument < 24n ? 0 : argument < 0x100n ? 1 : argument < 0x1_0000n ? 2 : argument < 0x1_0000_0000n ? 4 : 8;
  const bytes = Math.max(width, needed);
  if (bytes === 0) return Buffer.from([(major << 5) | Number(argument)]);
  const buffer = Buffer.alloc(9);
  buffer.writeBigUInt64BE(argument, 1);
  return Buffer.concat([Buffer.from([(major << 5) | (24 + Math.log2(bytes))]), buffer.subarray(9 - bytes)]);
}

function floatBytes(value: number, width: 2 | 4 | 8): Buffer {
  const buffer = Buffer.alloc(9);
  if (width === 2) {
    buffer.writeUInt8(0xf9);
    buffer.writeUInt16BE(halfBits(value), 1);
  } else if (width === 4) {
    buffer.writeUInt8(0xfa);
    buffer.writeFloatBE(value, 1);
  } else {
    buffer.writeUInt8(0xfb);
    buffer.writeDoubleBE(value, 1);
  }
  return buffer.subarray(0, width + 1);
}

/** The bits of a small whole number, an infinity or NaN as a half float. */
function halfBits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  if (!Number.isFinite(value)) return value > 0 ? 0x7c00 : 0xfc00;
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude === 0) return sign;
  const exponent = Math.floor(Math.log2(magnitude));
  return sign | ((exponent + 15) << 10) | ((magnitude / 2 ** exponent - 1) * 1024);
}

export const integerItem = (value: bigint | number, width: HeadWidth = 0): Item => ({
  is: 'integer',
  value: BigInt(value),
  width,
});
export const textItem = (value: string, width: HeadWidth = 0): Item => ({ is: 'text', value, width });
export const mapItem = (members: Array<[string, Item]>, width: HeadWidth | 'indefinite' = 0): Item => ({
  is: 'map',
  members: members.map(([key, item]) => [textItem(key), item]),
  width,
});
export const arrayItem = (items: Item[], width: HeadWidth | 'indefinite' = 0): Item => ({
  is: 'array',
  items,
  width,
});
export const falseItem: Item = { is: 'simple', value: 20 };
export const trueItem: Item = { is: 'simple', value: 21 };
export const nullItem: Item = { is: 'simple', value: 22 };
export const undefinedItem: Item = { is: 'simple', value: 23 };

export const headWidth = fc.constantFrom<HeadWidth>(0, 0, 0, 1, 2, 4, 8);
/** cbor-x, the reference, cannot read lengths of 8 bytes. */
export const lengthWidth = fc.constantFrom<HeadWidth>(0, 0, 0, 1, 2, 4);
const anyInteger = fc.oneof(
  fc.integer().map(BigInt),
  fc.maxSafeInteger().map(BigInt),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n - 1n }),
  fc.constantFrom(
    2n ** 53n,
    2n ** 53n - 1n,
    -(2n ** 53n),
    1n - 2n ** 53n,
    2n ** 32n,
    2n ** 64n - 1n,
    -(2n ** 64n),
  ),
);
export const integers: fc.Arbitrary<Item> = fc.record({
  is: fc.constant('integer' as const),
  value: anyInteger,
  width: headWidth,
});
export const floats: fc.Arbitrary<Item> = fc.oneof(
  fc.record({ is: fc.constant('float' as const), value: fc.double(), width: fc.constant(8 as const) }),
  fc.record({
    is: fc.constant('float' as const),
    value: fc.float(),
    width: fc.constantFrom(4 as const, 8 as const),
  }),
  fc.record({
    is: fc.constant('float' as const),
    value: fc.constantFrom(
      0,
      -0,
      1,
      -4,
      1.5,
      65504,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ),
    width: fc.constantFrom(2 as const, 4 as const, 8 as const),
  }),
);
export const texts: fc.Arbitrary<Item> = fc.record({
  is: fc.constant('text' as const),
  value: fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom('', 'x'.repeat(24), 'é'.repeat(300)),
  ),
  width: lengthWidth,
});
export const simples = fc.constantFrom(falseItem, trueItem, nullItem, undefinedItem);

/** The reference: cbor-x, with integers of 8 bytes as numbers if they are below 2^53, as in the contract. */
export function referenceDecode(bytes: Uint8Array): unknown {
  return normalised(new Decoder({ useRecords: false, mapsAsObjects: true }).decode(bytes));
}

function normalised(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(normalised);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, normalised(member)]));
}
