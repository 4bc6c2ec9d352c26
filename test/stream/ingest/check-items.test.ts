import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deviceStatusItemSchema, telemetryItemSchema } from '../../../src/contract/messages.ts';
import { limits } from '../../../src/contract/wire-limits.ts';
import { checkItems } from '../../../src/stream/ingest/check-items.ts';
import { deviceId, telemetry } from '../../support/messages.ts';

const anything = fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 2 });
const near = (limit: number) => fc.integer({ min: limit - 2, max: limit + 2 });
const text = (max: number) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.string({ minLength: 1, maxLength: 8 }) },
    fc.string({ maxLength: 8 }),
    fc.constantFrom('\ud800', 'a\udfff', '\ude00\ud83d', '😀'),
    near(max).map((length) => 'x'.repeat(length)),
  );
const integer = (max: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.nat() },
    near(max),
    fc.constantFrom(-1, 0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY),
  );
const value = fc.oneof(
  { weight: 8, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  text(limits.textCharactersMax),
  fc.bigInt({ min: -(2n ** 64n) - 2n, max: -(2n ** 64n) + 2n }),
  fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n + 2n }),
  fc.constantFrom(undefined, [], {}, new Uint8Array(2)),
);
const device = fc.oneof(
  { weight: 8, arbitrary: fc.uuid() },
  fc.uuid().map((id) => id.toUpperCase()),
  fc.string(),
  fc.constant('0'.repeat(36)),
);
const fields = fc.dictionary(text(limits.nameCharactersMax), value, { maxKeys: 4 });

/** An object with members that are right, wrong, missing or unknown. */
function itemOf(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const odd = Object.fromEntries(
    Object.entries(members).map(([key, arbitrary]) => [
      key,
      fc.oneof({ weight: 12, arbitrary }, { weight: 1, arbitrary: anything }),
    ]),
  );
  return fc.oneof(
    { weight: 12, arbitrary: fc.record(odd, { requiredKeys: ['device', 'event_time'] }) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.record(odd), fc.dictionary(fc.string(), fc.constant(1)))
        .map(([a, b]) => ({ ...b, ...a })),
    },
    { weight: 1, arbitrary: anything },
  );
}

const telemetryItem = itemOf({
  device,
  source: fc.option(text(limits.nameCharactersMax), { nil: null }),
  event_time: integer(limits.instantMsMax),
  msg_id: fc.option(integer(Number.MAX_SAFE_INTEGER), { nil: undefined }),
  data: fields,
});
const statusItem = itemOf({
  device,
  state: fc.constantFrom('online', 'offline', 'away'),
  event_time: integer(limits.instantMsMax),
  reason: fc.option(text(limits.textCharactersMax), { nil: null }),
});

describe.each([
  ['telemetry', 'solar', telemetryItem, telemetryItemSchema],
  ['device status', 'devices', statusItem, deviceStatusItemSchema],
] as const)('%s items', (_name, table, arbitrary, schema) => {
  test('are accepted or refused like by the schema of the contract, with the same result', () => {
    let accepted = 0;
    fc.assert(
      fc.property(arbitrary, (item) => {
        // The one intended difference: zod drops a field of this name.
        fc.pre(!hasOwnProto(item));
        const expected = schema.safeParse(item);
        const checked = checkItems([item], table, 'all');
        expect(checked.kind).toBe(expected.success ? 'valid' : 'invalid');
        if (checked.kind === 'valid') {
          accepted++;
          expect(checked.items).toEqual([expected.data]);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });
});

test('the number of fields is limited', () => {
  const withFields = (count: number) => ({
    ...telemetry(1)[0]!,
    data: Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, index])),
  });
  for (const [count, isValid] of [
    [limits.fieldsPerMessageMax, true],
    [limits.fieldsPerMessageMax + 1, false],
  ] as const) {
    expect(checkItems([withFields(count)], 'solar', 'all').kind).toBe(isValid ? 'valid' : 'invalid');
    expect(telemetryItemSchema.safeParse(withFields(count)).success).toBe(isValid);
  }
});

test('items with a field named __proto__ are refused', () => {
  const item = JSON.parse(`{"device":"${deviceId(1)}","event_time":1,"data":{"__proto__":1,"power":2}}`);
  expect(checkItems([item], 'solar', 'all')).toEqual({
    kind: 'invalid',
    problems: [
      { index: 0, field: 'data', reason: 'has a field with a name that cannot be stored: "__proto__"' },
    ],
    badItems: 1,
  });
});

test('every bad item is reported with its index, field and reason', () => {
  const [good] = telemetry(1);
  const items = [
    good,
    { ...good, device: 'no', event_time: -1 },
    'text',
    { ...good, data: { power: [1] }, colour: 'red' },
  ];
  expect(checkItems(items, 'solar', 'all')).toEqual({
    kind: 'invalid',
    problems: [
      { index: 1, field: 'device', reason: 'must be a UUID' },
      {
        index: 1,
        field: 'event_time',
        reason: 'must be milliseconds since 1970, an integer from 0 to 253402300799999',
      },
      { index: 2, field: '', reason: 'must be an object' },
      { index: 3, field: 'colour', reason: 'is not a member of a telemetry item' },
      { index: 3, field: 'data.power', reason: 'must be a number, text, true, false or null' },
    ],
    badItems: 3,
  });
});

test('the list of problems is capped, the count is not, and long names are cut', () => {
  const items = Array.from({ length: 500 }, () => ({ ['k'.repeat(5_000)]: 1 }));
  const checked = checkItems(items, 'solar', 'all');
  expect(checked).toMatchObject({ kind: 'invalid', badItems: 500 });
  expect(checked.kind === 'invalid' && checked.problems).toHaveLength(100);
  expect(JSON.stringify(checked).length).toBeLessThan(20_000);
});

test('a caller that may write for some devices cannot write for others', () => {
  const items = [...telemetry(1, { device: 1 }), ...telemetry(1, { device: 2 })];
  expect(checkItems(items, 'solar', new Set([deviceId(1)]))).toEqual({
    kind: 'invalid',
    problems: [{ index: 1, field: 'device', reason: 'is not a device that this token may write for' }],
    badItems: 1,
  });
  const upperCase = [{ ...items[0]!, device: deviceId(1).toUpperCase() }];
  expect(checkItems(upperCase, 'solar', new Set([deviceId(1)])).kind).toBe('valid');
});

function hasOwnProto(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false;
  return Object.hasOwn(item, '__proto__') || Object.values(item).some(hasOwnProto);
}
