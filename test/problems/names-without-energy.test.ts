import { expect, test } from 'vitest';
import { DEVICE } from '../rollup/rollup-fixture.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { foundIn, growingOf, OTHER, problemsOf, total } from './problems-fixture.ts';

const ROOF = DEVICE.replace(/1$/, '3');

/** A working device with a source, and one without. */
const twoDevices = shared(async () => {
  const shard = await openTestShard();
  await problemsOf(
    { energyStreams: [total] },
    [...growingOf({ table: 'solar' }), ...growingOf({ table: 'solar', device: ROOF, source: 'roof' })],
    shard,
  );
  return shard;
});

test('configured devices and sources without messages are reported', async () => {
  const devices = [{ id: ROOF, sources: ['Roof', 'roof'], totalSource: 'meter' }, { id: OTHER }];
  expect(await foundIn(twoDevices(), { energyStreams: [total], devices, totalSource: 'all' })).toEqual({
    'devices.0.sources': expect.stringContaining('"Roof" has never had energy; the device has "roof"'),
    'devices.0.totalSource': expect.stringContaining('"meter" has never had energy'),
    'devices.1.id': expect.stringContaining(`device ${OTHER} has never had energy`),
    totalSource: expect.stringContaining('source "all" has never had energy'),
  });
});

test('a role for a source without energy is reported, but not one for a pattern or another device', async () => {
  const roles = [
    { device: DEVICE, source: 'roof', role: 'production' },
    { device: 'garage', source: 'default', role: 'production' },
    { device: DEVICE, source: 'gr*', role: 'grid_import' },
    { device: OTHER, source: 'roof', role: 'production' },
    { source: 'nowhere', role: 'production' },
  ];
  const devices = [{ id: DEVICE, name: 'garage' }];
  expect(await foundIn(twoDevices(), { energyStreams: [total], devices, roles })).toEqual({
    'roles.0.source':
      'source "roof" has never had energy, so its production is unknown; the device has "default": correct the name, or remove it',
  });
});
