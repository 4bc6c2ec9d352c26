import { expect, test } from 'vitest';
import { energyStatisticId } from '../../src/home-assistant/energy-statistic-id.ts';

const device = '0b0e7c1e-0000-4000-8000-000000000001';
const parts = (workgroup: string, source: string | null) =>
  energyStatisticId(workgroup, device, source).split('0b0e7c1e_0000_4000_8000_000000000001');

test('plain names are used as they are, and a whole device has no source', () => {
  expect(energyStatisticId('home', device, null)).toBe(
    'wattline:home_0b0e7c1e_0000_4000_8000_000000000001_energy',
  );
  expect(parts('home', 'east_1')).toEqual(['wattline:home_', '_east_1_energy']);
});

test('other names have a hash, so that they differ, and no _ twice', () => {
  const sources = ['East 1', 'east 1', 'east__1', '_east_1_', '東'];
  const ids = sources.map((source) => parts('home', source)[1]!);
  expect(new Set(ids).size).toBe(sources.length);
  for (const id of ids) expect(id).toMatch(/^(_[a-z0-9]+)+_energy$/);
  expect(ids[0]).toMatch(/^_east_1_[0-9a-f]{8}_energy$/);
  expect(ids.at(-1)).toMatch(/^_[0-9a-f]{8}_energy$/);
});

test('an id has at most 255 characters, and long names that begin alike differ', () => {
  const long = 'x'.repeat(128);
  const id = energyStatisticId(long, device, long);
  expect(id.length).toBeLessThanOrEqual(255);
  expect(energyStatisticId(long, device, `${long}y`)).not.toBe(id);
  // A cut at a blank leaves no _ at the end.
  expect(parts('home', `${'x'.repeat(63)} y`)[1]).toMatch(/^_x{63}_[0-9a-f]{8}_energy$/);
});
