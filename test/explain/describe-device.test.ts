import { expect, test } from 'vitest';
import { describeDevice, type SourceFacts, sumText } from '../../src/explain/describe-device.ts';

/** A source that counts with 1,000 Wh. */
function fact(source: string, members: Partial<SourceFacts> = {}): SourceFacts {
  return {
    source,
    role: 'production',
    negativeRole: null,
    counts: true,
    part: 'whole',
    isListed: true,
    container: null,
    lacksRole: false,
    hasEnergy: true,
    energyWh: 1_000,
    ...members,
  };
}

const noRole = { role: null };
const aside = { counts: false };
const silent = { hasEnergy: false, energyWh: null };

function described(
  sources: SourceFacts[],
  facts: { totalSource?: string; energyRole?: string; flags?: string[] } = {},
) {
  return describeDevice(sources, { totalSource: null, energyRole: null, energyWh: 7, flags: [], ...facts });
}

const reasonsOf = (...args: Parameters<typeof described>) =>
  Object.fromEntries(described(...args).sources.map(({ source, reason }) => [source, reason]));

test.each<[text: string, rule: string, sources: SourceFacts[], facts?: object]>([
  ['the device is its only source', 'no_role', [fact('only', noRole)]],
  [
    'no source of the device has a role, so all of them are added',
    'no_role',
    // The role of a source that does not count says nothing about the device.
    [fact('one', noRole), fact('two', noRole), fact('three', aside)],
  ],
  [
    'the device is the sum of its sources with the role production',
    'one_role',
    [
      fact('roof'),
      fact('shed'),
      // It is no second role, and a source that the device does not list has none.
      fact('fan', { role: 'other', ...aside }),
      fact('load', { role: 'consumption', isListed: false, ...aside }),
    ],
    // It has no readings on this day.
    { totalSource: 'all' },
  ],
  [
    'the device has several roles and is read from production, the first of them; consumption is not added',
    'several_roles',
    [fact('roof'), fact('load', { role: 'consumption', ...aside })],
  ],
  [
    'the device has several roles and is read from grid_export, the first of them; consumption and grid_import are not added',
    'several_roles',
    [
      fact('load', { role: 'consumption', ...aside }),
      fact('meter', { role: 'grid_import', negativeRole: 'grid_export', part: 'fall' }),
    ],
  ],
  [
    'the device is the sum of its sources with the role consumption, which is its energyRole',
    'energy_role',
    [fact('roof', aside), fact('load', { role: 'consumption' })],
    { energyRole: 'consumption' },
  ],
  [
    'the device is its total source all alone',
    'total_source',
    [fact('all'), fact('roof')],
    { totalSource: 'all' },
  ],
])('%s', (text, rule, sources, facts) => {
  expect(described(sources, facts)).toMatchObject({ rule, text, energyWh: 7 });
});

test('the role of a device is that of its rule', () => {
  const sources = [fact('load', { role: 'consumption', ...aside }), fact('roof')];
  expect(described(sources).role).toBe('production');
  expect(described(sources, { energyRole: 'consumption' }).role).toBe('consumption');
  expect(described(sources, { totalSource: 'roof' }).role).toBeNull();
  expect(described([fact('one', noRole)]).role).toBeNull();
  expect(described([fact('meter', { negativeRole: 'grid_export', part: 'fall' })]).role).toBe('grid_export');
});

test('a source that counts says as what, and whether it has energy', () => {
  const meter = { role: 'grid_import', negativeRole: 'grid_export' };
  expect(
    reasonsOf([
      fact('roof'),
      fact('shed', silent),
      fact('rise', { ...meter, part: 'rise' }),
      fact('fall', { ...meter, part: 'fall', ...silent }),
      fact('far', { ...meter, part: 'fall', energyWh: null }),
    ]),
  ).toEqual({
    roof: 'has the role production',
    shed: 'has the role production; it has no energy on this day',
    rise: 'counts as production where it rises',
    fall: 'counts as production where it falls; it has no energy on this day',
    far: 'counts as production where it falls; its readings are too far apart to separate that part',
  });
  expect(reasonsOf([fact('one', noRole), fact('two', { ...noRole, ...silent })])).toEqual({
    one: 'no role is declared',
    two: 'no role is declared; it has no energy on this day',
  });
  expect(reasonsOf([fact('all', silent)], { totalSource: 'all' })).toEqual({
    all: 'the total source; it has no energy on this day',
  });
});

test('a source that does not count says why', () => {
  expect(
    reasonsOf([
      fact('roof'),
      fact('load', { role: 'consumption', ...aside }),
      fact('meter', { role: 'grid_import', negativeRole: 'grid_export', ...aside }),
      fact('string', { container: 'roof', ...aside }),
      // Its container has no role, so the energy is not in the device yet.
      fact('inner', { role: 'consumption', container: 'odd', ...aside }),
      fact('odd', { ...noRole, ...aside }),
      fact('foreign', { isListed: false, ...aside }),
      // The device does not read its container.
      fact('stray', { role: 'consumption', container: 'foreign', ...aside }),
    ]),
  ).toEqual({
    roof: 'has the role production',
    load: 'its role is consumption, not production',
    meter: 'its role is grid_import or grid_export, not production',
    string: 'roof measures it too',
    inner: 'its role is consumption, not production',
    odd: 'no role is declared for it on this day',
    foreign: 'the setting sources of the device does not name it',
    stray: 'its role is consumption, not production',
  });
  expect(reasonsOf([fact('all'), fact('roof', aside)], { totalSource: 'all' }).roof).toBe(
    'the total source all stands for the device',
  );
});

test('each flag of a device names the sources that cause it', () => {
  const sources = [
    fact('roof', silent),
    fact('load', { role: 'consumption', ...aside, ...silent }),
    fact('late', { ...noRole, ...aside, lacksRole: true }),
    fact('odd', { ...noRole, ...aside, lacksRole: true }),
  ];
  expect(described(sources, { flags: ['incomplete', 'undeclared', 'mixed', 'gap'] }).flags).toEqual([
    { flag: 'mixed', reason: 'its sources have the roles production and consumption' },
    { flag: 'undeclared', reason: 'no role is declared for late and odd on this day' },
    { flag: 'incomplete', reason: 'roof has no energy on this day' },
  ]);
  expect(described([fact('roof')], { flags: ['incomplete'] }).flags).toEqual([
    { flag: 'incomplete', reason: 'a declared source of the device has no energy on this day' },
  ]);
});

test('the sum of a device names the sources that are added, and one source alone is no sum', () => {
  const textOf = (...sources: SourceFacts[]) => sumText(described(sources));
  expect(textOf(fact('east'), fact('west', { energyWh: -250 }), fact('attic', aside))).toBe(
    '1,000 (east) + -250 (west) = 7 Wh',
  );
  expect(textOf(fact('east'), fact('west', silent))).toBeUndefined();
  expect(sumText({ ...described([fact('east'), fact('west')]), energyWh: null })).toBeUndefined();
});
