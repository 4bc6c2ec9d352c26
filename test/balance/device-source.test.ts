import { expect, test } from 'vitest';
import { type BalanceTable, balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

const day = (number: number | undefined) =>
  number === undefined ? 'NULL::DATE' : `DATE '2026-11-0${number}'`;
const text = (value: string | undefined) => (value === undefined ? 'NULL::VARCHAR' : `'${value}'`);

/** A declaration: source of the device a, role, negative role, the source that contains it, and its days. */
type Span = [
  source: string,
  role: string,
  negative?: string | undefined,
  within?: string | undefined,
  from?: number | undefined,
  to?: number | undefined,
];

interface Declared {
  /** Sources of the device a with energy. */
  known?: string[];
  spans?: Span[];
  device?: { total?: string; sources?: string[]; role?: string };
  /** The total source of all devices. */
  total?: string;
}

/** The rows of the device a. Columns: of device_source. */
async function read(columns: string, { known = [], spans = [], device, total }: Declared) {
  // A device that is not asked for gives the columns their types.
  const role_span: BalanceTable = [
    'device, source, role, negative_role, within_device, within_source, valid_from, valid_to',
    "'z', 'x', 'production', NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR, NULL::DATE, NULL::DATE",
    ...spans.map(([source, role, negative, within, from, to]) => {
      const [owner, part] = within?.split('.') ?? [];
      return `'a', '${source}', '${role}', ${text(negative)}, ${text(owner)}, ${text(part)}, ${day(from)}, ${day(to)}`;
    }),
  ];
  const { total: own, sources, role } = device ?? {};
  const wanted = sources ? `[${sources.map(text).join(', ')}]` : 'NULL::VARCHAR[]';
  const found = await readStatements(
    {
      known_source: ['device, source', "'z', 'x'", ...known.map((source) => `'a', '${source}'`)],
      declared_device: [
        'device, total_source, sources, energy_role',
        `NULL::VARCHAR, ${text(total)}, NULL::VARCHAR[], NULL::VARCHAR`,
        ...(device ? [`'a', ${text(own)}, ${wanted}, ${text(role)}`] : []),
      ],
      role_span,
    },
    { device_source: 'find_device_source' },
    `device, ${columns}`,
  );
  return found.filter(([of]) => of === 'a').map(([, ...row]) => row);
}

/** The sources that count, with their part. */
const countedOf = async (declared: Declared) =>
  (await read("counts, concat_ws(' ', source, part)", declared))
    .filter(([counts]) => counts)
    .map(([, source]) => source);
/** Whether the device is mixed, how many sources count and how many lack a role, and how many may. */
const factsOf = async (declared: Declared) =>
  (await read('is_mixed, counting_sources, lacking_sources, lacking_max', declared))[0];

const both: Span[] = [
  ['load', 'consumption'],
  ['pv', 'production'],
];

test('without roles all sources count, and only a single one needs no role', async () => {
  const known = ['x', 'y'];
  expect(await countedOf({ known })).toEqual(['x whole', 'y whole']);
  expect(await factsOf({ known })).toEqual([false, 0, 2, 1]);
});

test('the total source counts alone, of the device before that of all devices', async () => {
  const known = ['x', 'sum'];
  expect(await countedOf({ known, total: 'sum' })).toEqual(['sum whole']);
  expect(await countedOf({ known, total: 'sum', device: { total: 'x' } })).toEqual(['x whole']);
  expect(await countedOf({ known, total: 'sum', device: {} })).toEqual(['sum whole']);
  expect(await countedOf({ known, spans: both, total: 'load' })).toEqual(['load whole']);
  expect(await factsOf({ known, spans: both, total: 'load' })).toEqual([false, 1, 2, null]);
  // The device does not have it.
  expect(await countedOf({ known, total: 'other' })).toEqual(['sum whole', 'x whole']);
});

test('of several roles the first counts, and a source without a role is left out', async () => {
  const known = ['x'];
  expect(await countedOf({ known, spans: both })).toEqual(['pv whole']);
  expect(await factsOf({ known, spans: both })).toEqual([true, 1, 1, 0]);
  expect(await countedOf({ spans: both, device: { role: 'consumption' } })).toEqual(['load whole']);
  expect(await factsOf({ spans: both, device: { role: 'consumption' } })).toEqual([false, 1, 0, null]);
  const same: Span[] = [
    ['east', 'production'],
    ['west', 'production'],
    ['temperature', 'other'],
  ];
  expect(await countedOf({ spans: same })).toEqual(['east whole', 'west whole']);
  expect(await factsOf({ spans: same })).toEqual([false, 2, 0, 0]);
  expect(await countedOf({ known, spans: [['temperature', 'other']] })).toEqual(['temperature whole']);
});

test('of a net register the part of the role counts, and the whole if it is the total source', async () => {
  const net: Span = ['net', 'grid_import', 'grid_export'];
  expect(await countedOf({ spans: [net] })).toEqual(['net rise']);
  expect((await factsOf({ spans: [net] }))![0]).toBe(true);
  expect(await countedOf({ spans: [net], device: { role: 'grid_export' } })).toEqual(['net fall']);
  expect(await countedOf({ spans: [['net', 'consumption', 'production']] })).toEqual(['net fall']);
  expect(await countedOf({ spans: [net], total: 'net' })).toEqual(['net whole']);
});

test('a source that another one of the device contains is left out, if that one has a role and is wanted', async () => {
  const part: Span = ['part', 'consumption', undefined, 'a.main'];
  const main: Span = ['main', 'consumption'];
  expect(await countedOf({ spans: [main, part] })).toEqual(['main whole']);
  expect(await countedOf({ known: ['main'], spans: [part] })).toEqual(['part whole']);
  expect(await countedOf({ spans: [main, part], device: { sources: ['part'] } })).toEqual(['part whole']);
  expect(await countedOf({ spans: [main, ['part', 'consumption', undefined, 'b.main']] })).toEqual([
    'main whole',
    'part whole',
  ]);
});

test('only the sources that are named count, and others lack no role', async () => {
  const device = { sources: ['x', 'y'] };
  expect(await countedOf({ known: ['x', 'y', 'w'], device })).toEqual(['x whole', 'y whole']);
  expect(await factsOf({ known: ['x', 'y', 'w'], device })).toEqual([false, 0, 2, 1]);
});

test('a declaration holds from its first to its last day, and the source lacks a role on the others', async () => {
  const columns = 'source, day(valid_from), day(valid_to), role, counts, lacking_sources, lacks_with_energy';
  const spans: Span[] = [
    ['pv', 'production'],
    ['roof', 'production', undefined, undefined, 2, 3],
  ];
  expect(await read(columns, { spans })).toEqual([
    ['pv', 2, 3, 'production', true, 0, false],
    ['pv', 4, null, 'production', true, 0, false],
    ['pv', null, 1, 'production', true, 0, false],
    ['roof', 2, 3, 'production', true, 0, false],
    ['roof', 4, null, null, false, 0, true],
    ['roof', null, 1, null, false, 0, true],
  ]);
  const daysOf = async (from?: number, to?: number) =>
    read('day(valid_from), day(valid_to), role', {
      spans: [['roof', 'production', undefined, undefined, from, to]],
    });
  expect(await daysOf(2)).toEqual([
    [2, null, 'production'],
    [null, 1, null],
  ]);
  expect(await daysOf(undefined, 3)).toEqual([
    [4, null, null],
    [null, 3, 'production'],
  ]);
});

test('a day of a source has what holds on it, and a source that is not declared counts as a whole', async () => {
  const found = await readStatements(
    {
      chosen: [
        'day, device, source',
        ...[1, 2, 3, 4].map((number) => `${day(number)}, 'a', 'net'`),
        `${day(2)}, 'a', 'other'`,
        `${day(2)}, 'b', 'net'`,
      ],
      device_source: [
        `device, source, valid_from, valid_to, counts, part, role, is_mixed, counting_sources, lacking_sources,
          lacking_max, lacks_with_energy`,
        `'a', 'net', NULL::DATE, ${day(1)}, false, 'whole', NULL, false, 5, 6, 7, true`,
        `'a', 'net', ${day(2)}, ${day(3)}, true, 'rise', 'grid_import', true, 1, 2, 3, false`,
        `'a', 'net', ${day(4)}, NULL, true, 'fall', 'grid_export', true, 1, 2, 3, false`,
      ],
    },
    { role_day: 'find_role_days' },
    `device, source, day(day), counts, part, role, is_mixed, counting_sources, lacking_sources, lacking_max,
      lacks_with_energy`,
  );
  const nothing = Array.from({ length: 7 }, () => null);
  expect(found).toEqual([
    ['a', 'net', 1, false, 'whole', null, false, 5, 6, 7, true],
    ['a', 'net', 2, true, 'rise', 'grid_import', true, 1, 2, 3, false],
    ['a', 'net', 3, true, 'rise', 'grid_import', true, 1, 2, 3, false],
    ['a', 'net', 4, true, 'fall', 'grid_export', true, 1, 2, 3, false],
    ['a', 'other', 2, true, ...nothing],
    ['b', 'net', 2, true, ...nothing],
  ]);
});
