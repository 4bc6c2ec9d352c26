import { expect, test } from 'vitest';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import type { IngestType } from '../../../src/contract/ingest-types.ts';
import { readItems } from '../../../src/stream/ingest/read-items.ts';

const ones = (count: number) => new Array<number>(count).fill(1);

test.each<[form: string, type: IngestType, body: (count: number) => Uint8Array]>([
  ['CBOR', 'application/cbor', (count) => encodeCbor(ones(count))],
  ['CBOR of indefinite length', 'application/cbor', (count) => Uint8Array.of(0x9f, ...ones(count), 0xff)],
  ['JSON', 'application/json', (count) => Buffer.from(JSON.stringify(ones(count)))],
  ['lines of JSON', 'application/x-ndjson', (count) => Buffer.from('1\n'.repeat(count))],
])('a body has 1 to 10,000 items as %s', (_, type, body) => {
  expect(readItems(body(1), type)).toEqual([1]);
  expect(readItems(body(10_000), type)).toHaveLength(10_000);
  expect(() => readItems(body(10_001), type)).toThrow('at most 10000 items');
  expect(() => readItems(body(0), type)).toThrow('the body holds no items');
});

test('items in JSON are nested at most 16 levels deep, with their list', () => {
  const nested = (levels: number) => Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect(readItems(nested(16), 'application/json')).toHaveLength(1);
  expect(() => readItems(nested(17), 'application/json')).toThrow('nested too deep');
});

test('a member that is named twice in one object is refused at any depth, and may be in several objects', () => {
  const once = '{"b":3,"a":{"b":1,"c":[{"b":null}]}}';
  const twice = '{"b":3,"a":{"b":1,"c":[{"b":null,"b":2}]}}';
  expect(readItems(Buffer.from(`[${once}]`), 'application/json')).toEqual([JSON.parse(once)]);
  expect(() => readItems(Buffer.from(`[${twice}]`), 'application/json')).toThrow(
    /the JSON names "b" twice in one object, at position/,
  );
  expect(readItems(Buffer.from(`${once}\n${once}\n`), 'application/x-ndjson')).toHaveLength(2);
  expect(() => readItems(Buffer.from(`${once}\n${twice}\n`), 'application/x-ndjson')).toThrow(
    /the JSON in line 2 names "b" twice in one object, at position/,
  );
});
