import { describe, expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { alternativesText, findUnknownDevice, visibleNamed } from '../../src/report/known-devices.ts';
import { knownText, meantText } from '../../src/report/known-names.ts';
import type { Generation, LakeReader } from '../../src/report/lake/lake-reader.ts';
import { deviceId } from '../support/messages.ts';

const [one, two, three] = [deviceId(1), deviceId(2), deviceId(3)];
const garage = { id: one, name: 'garage' };
const nameless = { id: two };

test.each<[text: string, ...Parameters<typeof alternativesText>]>([
  ['give the id of a device, a UUID', 'garag', []],
  ['is it garage? The devices are garage', 'garag', [garage, nameless]],
  // Ids are not listed beside names, and can be meant.
  ['the devices are garage', 'cellar', [garage, nameless], [three]],
  [`is it ${three}? The devices are garage`, `${three}3`, [garage], [three]],
  [`the devices are ${one}, ${two}`, 'cellar', [nameless], [one, two]],
])('the alternatives: %s', (text, written, named, others) => {
  expect(alternativesText(written, named as never, others)).toBe(text);
});

test('a token of device groups sees the names of its devices', () => {
  const workgroup = { devices: [garage, nameless] } as never;
  expect(visibleNamed({ devices: 'all' }, workgroup)).toEqual([garage, nameless]);
  expect(visibleNamed({ devices: new Set([two, three]) }, workgroup)).toEqual([nameless]);
});

test('an error lists 20 names, and counts the others', () => {
  const names = Array.from({ length: 22 }, (_, index) => `n${index}`);
  expect(knownText('meters', [])).toBe('there are no meters that the token may see');
  expect(knownText('meters', names.slice(0, 20))).toMatch(/^the meters are n0, .*, n19$/);
  expect(knownText('meters', names)).toMatch(/, n19 and 2 more$/);
  expect(meantText('nothing like it', 'meters', ['GRID-1'], ['house'])).toBe('the meters are GRID-1');
  expect(meantText('hose', 'meters', ['GRID-1'], ['house'])).toBe('is it house? The meters are GRID-1');
});

describe('a device is known', () => {
  const [named, grouped, ofSite] = [deviceId(1), deviceId(2), deviceId(3)];
  const [ofMeter, kept, unknown] = [deviceId(4), deviceId(5), deviceId(6)];
  const workgroup = workgroupSchema.parse({
    id: 'home',
    devices: [{ id: named }],
    deviceGroups: { tenants: [grouped] },
    sites: [{ name: 'roof', devices: [{ id: ofSite }] }],
    meters: [{ code: 'PV', device: ofMeter }],
  });
  /** Nothing but days is published, and only one device has some. */
  const generation = {
    files: (dataset: string) => (dataset === 'daily_energy' ? [{}] : []),
    path: () => '',
  } as unknown as Generation;
  const lake = { run: async () => [{ device: kept }] } as unknown as LakeReader;
  const find = async (devices: string[] | undefined) =>
    (await findUnknownDevice(lake, generation, workgroup, devices))?.device;

  test('if the configuration names it anywhere', async () => {
    expect(await find([named, grouped, ofSite, ofMeter])).toBeUndefined();
  });

  test('if it has days, although it has no readings any more', async () => {
    expect(await find([kept])).toBeUndefined();
    expect(await find([named, kept, unknown])).toBe(unknown);
  });

  test('before anything is published, and if none is named', async () => {
    expect(await findUnknownDevice(lake, undefined, workgroup, [unknown])).toBeUndefined();
    expect(await find(undefined)).toBeUndefined();
  });
});
