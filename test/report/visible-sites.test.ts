import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { visibleSites } from '../../src/report/visible-sites.ts';
import { deviceId } from '../support/messages.ts';

const [one, two] = [deviceId(1), deviceId(2)];
const workgroup = workgroupSchema.parse({
  id: 'home',
  meters: [{ code: 'GRID' }, { code: 'PV', device: one }],
  sites: [
    { name: 'both devices', devices: [{ id: one }, { id: two }] },
    { name: 'its meter', meters: [{ code: 'PV' }], devices: [{ id: one }] },
    { name: 'uploaded', meters: [{ code: 'PV' }, { code: 'GRID' }] },
  ],
});

test.each<[devices: string[] | 'all', sites: string[]]>([
  ['all', ['both devices', 'its meter', 'uploaded']],
  [
    [one, two],
    ['both devices', 'its meter'],
  ],
  [[one], ['its meter']],
  [[two], []],
  [[], []],
])('a token with the devices %j sees the sites %j', (devices, sites) => {
  const authorization = { devices: devices === 'all' ? devices : new Set(devices) };
  expect(visibleSites(workgroup, authorization).map(({ name }) => name)).toEqual(sites);
});
