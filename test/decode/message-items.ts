import fc from 'fast-check';
import {
  arrayItem,
  floats,
  headWidth,
  type Item,
  integerItem,
  integers,
  lengthWidth,
  mapItem,
  nullItem,
  simples,
  textItem,
  texts,
} from '../cbor/cbor-items.ts';

type Members = Array<[Item, Item]>;

const key = (name: string): Item => textItem(name);
const anyOffset = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.nat(100).map(BigInt),
  fc.constantFrom(0n, 2n ** 53n, 2n ** 64n - 1n),
);
const instants = fc.nat(253_402_300_799_999);
const offsets = fc.tuple(anyOffset, headWidth).map(([value, width]) => integerItem(value, width));
const times: fc.Arbitrary<Item> = fc.oneof(
  fc.tuple(instants, headWidth).map(([ms, width]) => integerItem(ms, width)),
  instants.map((value) => ({ is: 'float' as const, value, width: 8 as const })),
);
const devices = fc
  .tuple(fc.uuid(), fc.boolean())
  .map(([uuid, upper]) => textItem(upper ? uuid.toUpperCase() : uuid));
const sources = fc.oneof(
  fc.constantFrom('grid', 'solar', 'inverter_1').map((name) => textItem(name)),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).map((name) => textItem(name)),
  fc.constant(nullItem),
);
const fieldNames = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('power', 'energy_import', 'energy_export', 'voltage_l1', '1', '20', 'état'),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', 'x'.repeat(128)) },
);
const fieldValues = fc.oneof(
  { weight: 3, arbitrary: floats },
  { weight: 3, arbitrary: integers },
  { weight: 1, arbitrary: texts },
  { weight: 1, arbitrary: simples },
);
const datas = fc
  .tuple(
    fc.uniqueArray(fc.tuple(fieldNames, fieldValues), { maxLength: 12, selector: ([name]) => name }),
    lengthWidth,
  )
  .map(([fields, width]) => mapItem(fields, width));

/** Telemetry of our server as any encoder may write it: members in any order, numbers in any width. */
export const regularMessages: fc.Arbitrary<Item> = fc
  .record({
    offset: offsets,
    table: fc.constantFrom('solar', 'meters', 'a.b-c_9').map((name) => textItem(name)),
    device: devices,
    source: fc.option(sources, { nil: undefined }),
    event_time: times,
    store_time: times,
    msg_id: fc.option(
      fc.tuple(fc.nat(), headWidth).map(([id, width]) => integerItem(id, width)),
      { nil: undefined },
    ),
    data: datas,
    order: fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
    width: fc.constantFrom(0 as const, 1 as const, 2 as const),
  })
  .map(({ order, width, ...given }) => {
    const members: Members = [[key('kind'), textItem('telemetry')]];
    for (const [name, item] of Object.entries(given)) if (item) members.push([key(name), item]);
    return { is: 'map', members: shuffled(members, order), width };
  });

function shuffled<T>(items: T[], ranks: number[]): T[] {
  return items
    .map((item, index) => ({ item, rank: ranks[index]! }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

const anything: fc.Arbitrary<Item> = fc.oneof(
  integers,
  floats,
  texts,
  simples,
  fc.constantFrom<Item>(
    arrayItem([]),
    arrayItem([integerItem(1), textItem('x')], 'indefinite'),
    mapItem([['a', mapItem([['b', integerItem(2n ** 60n)]], 'indefinite')]]),
    mapItem([['power', floatItem(1.5)]], 'indefinite'),
    { is: 'bytes', value: new Uint8Array([1, 2, 255]) },
    { is: 'tag', tag: 0, item: textItem('2026-11-20T13:05:00Z') },
    { is: 'tag', tag: 1, item: integerItem(1_763_600_000) },
    { is: 'tag', tag: 2, item: { is: 'bytes', value: new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0]) } },
    { is: 'tag', tag: 100, item: nullItem },
    { is: 'tag', tag: 55799, item: integerItem(5) },
    { is: 'simple', value: 3 },
    textItem('2026-11-20T13:05:00.123Z'),
    textItem('2026-11-20T13:05:00+02:00'),
    textItem('2026-11-20T13:05:00'),
    textItem('1763600000000'),
    textItem('0f8fad5b-d9cb-469f-a165-70867728950e'),
    textItem('telemetry'),
    textItem('online'),
    textItem(''),
    textItem('x'.repeat(200)),
    textItem('$extra'),
    integerItem(-1),
    floatItem(2 ** 60),
    floatItem(1.5),
    floatItem(1_763_600_000_000),
  ),
);

function floatItem(value: number): Item {
  return { is: 'float', value, width: 8 };
}

const oddKeys = fc.constantFrom(
  ...[
    'offset',
    'table',
    'tableName',
    'kind',
    'device',
    'device_id',
    'deviceId',
    'source',
    'event_time',
    'eventTime',
  ],
  ...[
    'timestamp',
    'store_time',
    'storeTime',
    'msg_id',
    'msgId',
    'data',
    'state',
    'actor',
    'extra',
    '$extra',
    '__proto__',
  ],
);

/** Messages as other servers, other encoders or broken programs may send them. */
export const oddMessages: fc.Arbitrary<Item> = fc.oneof(
  { weight: 1, arbitrary: anything },
  {
    weight: 8,
    arbitrary: fc
      .tuple(regularMessages, fc.array(change(), { minLength: 1, maxLength: 3 }))
      .map(([message, changes]) => changes.reduce((item, apply) => apply(item), message)),
  },
);

function change(): fc.Arbitrary<(item: Item) => Item> {
  const onMembers =
    (apply: (members: Members) => Members) =>
    (item: Item): Item =>
      item.is === 'map' ? { ...item, members: apply(item.members) } : item;
  return fc.oneof(
    // A member is missing, renamed, changed, repeated or added.
    fc.nat(8).map((at) => onMembers((members) => members.toSpliced(at, 1))),
    fc
      .tuple(fc.nat(8), oddKeys)
      .map(([at, name]) =>
        onMembers((members) => members.map(([k, v], index) => [index === at ? key(name) : k, v])),
      ),
    fc
      .tuple(fc.nat(8), anything)
      .map(([at, value]) =>
        onMembers((members) => members.map(([k, v], index) => [k, index === at ? value : v])),
      ),
    fc
      .tuple(oddKeys, anything)
      .map(([name, value]) => onMembers((members) => [...members, [key(name), value]])),
    // The same for a field of its data.
    fc
      .tuple(fc.oneof(fieldNames, oddKeys), anything)
      .map(([name, value]) =>
        onMembers((members) =>
          members.map(([k, v]) => [
            k,
            k.is === 'text' && k.value === 'data' && v.is === 'map'
              ? { ...v, members: [...v.members, [key(name), value]] }
              : v,
          ]),
        ),
      ),
    fc.constantFrom<(item: Item) => Item>(
      (item) => (item.is === 'map' ? { ...item, width: 'indefinite' } : item),
      (item) => (item.is === 'map' ? { ...item, width: 4 } : item),
      (item) => ({ is: 'tag', tag: 55799, item }),
      onMembers((members) => [...members, [integerItem(1), integerItem(2)]]),
      onMembers((members) => members.map(([k, v]) => [k.is === 'text' ? { ...k, width: 1 } : k, v])),
    ),
  );
}
