import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { absentInAll, type SiteConfig } from '../../src/config/meters.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { loadConfig } from '../support/load-config.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function problemsOf(workgroup: object): string[] {
  const parsed = configSchema.safeParse({ workgroups: [{ id: 'home', ...workgroup }] });
  return parsed.success ? [] : zodProblems(parsed.error).map(({ path, message }) => `${path}: ${message}`);
}

test('meters and sites have defaults', () => {
  const [workgroup] = configSchema.parse({
    workgroups: [
      {
        id: 'home',
        meters: [{ code: 'GRID-1' }],
        sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: DEVICE.toUpperCase() }] }],
      },
    ],
  }).workgroups;
  expect(workgroup!.meters).toEqual([{ code: 'GRID-1', multiplier: 1 }]);
  expect(workgroup!.sites).toEqual([
    { name: 'roof', meters: [{ code: 'GRID-1', sign: 1 }], devices: [{ id: DEVICE, sign: 1 }], absent: [] },
  ]);
});

test('members may join and leave a site, and a device may be a member by two of its sources', () => {
  expect(
    problemsOf({
      meters: [{ code: 'A' }, { code: 'B', device: DEVICE, source: 'roof' }],
      sites: [
        {
          name: 'roof',
          meters: [
            { code: 'A', to: '2026-04-30' },
            { code: 'B' },
            { code: 'A', from: '2026-05-01', sign: -1 },
          ],
          devices: [
            { id: DEVICE, source: 'roof' },
            { id: DEVICE, source: 'carport' },
          ],
        },
      ],
    }),
  ).toEqual([]);
});

test.each([
  ['a code with a blank', { meters: [{ code: 'GRID 1' }] }, /^workgroups.0.meters.0.code: must be 1 to 64/],
  [
    'a code twice',
    { meters: [{ code: 'A' }, { code: 'A' }] },
    /^workgroups.0.meters.1.code: "A" is used twice/,
  ],
  [
    'a source of no device',
    { meters: [{ code: 'A', source: 'roof' }] },
    /^workgroups.0.meters.0.source: needs a device/,
  ],
  [
    'an unknown direction',
    { meters: [{ code: 'A', direction: 'up' }] },
    /^workgroups.0.meters.0.direction: must be one of production, consumption, import, export/,
  ],
  [
    'a multiplier of nothing',
    { meters: [{ code: 'A', multiplier: 0 }] },
    /^workgroups.0.meters.0.multiplier/,
  ],
  [
    'a multiplier of what a device measures',
    { meters: [{ code: 'A', device: DEVICE, multiplier: 2 }] },
    /^workgroups.0.meters.0.multiplier: is only for uploaded values/,
  ],
  [
    'a file without codes',
    { meters: 'name;direction\na;import' },
    /^workgroups.0.meters: is not a CSV file with a column "code"/,
  ],
  [
    'a file that is not CSV',
    { sites: 'site,meter\n"a,b' },
    /^workgroups.0.sites: is not a CSV file: Quote Not Closed/,
  ],
  [
    'a wrong cell of a file',
    { meters: 'code,direction\nA,\nB,up' },
    /^workgroups.0.meters.1.direction: must be/,
  ],
  ['an unknown column of a file', { meters: 'code,colour\nA,red' }, /^workgroups.0.meters.0.colour: /],
  [
    'a member without a meter of its code in a file',
    { meters: 'code\nA', sites: 'site,meter\na,B' },
    /^workgroups.0.sites.0.meters.0.code: no meter has the code "B"/,
  ],
  [
    'a sign in a file that is neither 1 nor -1',
    { meters: 'code\nA', sites: 'site,meter,sign\na,A,minus' },
    /^workgroups.0.sites.0.meters.0.sign: must be 1 or -1/,
  ],
  [
    'a site twice',
    { sites: [{ name: 'a' }, { name: 'a' }] },
    /^workgroups.0.sites.1.name: "a" is used twice/,
  ],
  [
    'a code that no meter has',
    { meters: [{ code: 'A' }], sites: [{ name: 'a', meters: [{ code: 'B' }] }] },
    /^workgroups.0.sites.0.meters.0.code: no meter has the code "B"/,
  ],
  [
    'a day that does not exist',
    { sites: [{ name: 'a', devices: [{ id: DEVICE, from: '2026-02-30' }] }] },
    /^workgroups.0.sites.0.devices.0.from: must be a day that exists/,
  ],
  [
    'an end before the beginning',
    { sites: [{ name: 'a', devices: [{ id: DEVICE, from: '2026-02-02', to: '2026-02-01' }] }] },
    /^workgroups.0.sites.0.devices.0.to: is before from/,
  ],
  [
    'a sign of two',
    { sites: [{ name: 'a', devices: [{ id: DEVICE, sign: 2 }] }] },
    /^workgroups.0.sites.0.devices.0.sign: must be 1 or -1/,
  ],
  [
    'a member twice at a time',
    {
      meters: [{ code: 'A' }],
      sites: [
        {
          name: 'a',
          meters: [
            { code: 'A', to: '2026-05-01' },
            { code: 'A', from: '2026-05-01' },
          ],
        },
      ],
    },
    /^workgroups.0.sites.0.meters.1.code: "A" is already a member/,
  ],
  [
    'a member twice on the last day of the period that is listed last',
    {
      meters: [{ code: 'A' }],
      sites: [
        {
          name: 'a',
          meters: [
            { code: 'A', from: '2026-05-01' },
            { code: 'A', to: '2026-05-01' },
          ],
        },
      ],
    },
    /^workgroups.0.sites.0.meters.1.code: "A" is already a member/,
  ],
  [
    'one source of a device and the device as a whole',
    { sites: [{ name: 'a', devices: [{ id: DEVICE, source: 'roof' }, { id: DEVICE }] }] },
    /^workgroups.0.sites.0.devices.1.id: .* is already a member/,
  ],
  [
    'a device as a whole and one of its sources',
    { sites: [{ name: 'a', devices: [{ id: DEVICE }, { id: DEVICE, source: 'roof' }] }] },
    /^workgroups.0.sites.0.devices.1.id: .* is already a member/,
  ],
])('%s is refused with its path', (_, workgroup, expected) => {
  expect(problemsOf(workgroup)).toEqual([expect.stringMatching(expected)]);
});

test('a role is absent in a workgroup if it is absent in all of its sites', () => {
  const one: Pick<SiteConfig, 'absent'> = { absent: ['grid_export', 'production'] };
  const other: typeof one = { absent: ['production'] };
  expect(absentInAll([])).toEqual([]);
  expect(absentInAll([one])).toEqual(['grid_export', 'production']);
  expect(absentInAll([one, other])).toEqual(['production']);
  expect(absentInAll([one, other, { absent: [] }])).toEqual([]);
});

test('meters and sites can be listed in files, and a meter or device can be in several sites', () => {
  const cwd = tempDir();
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    'workgroups: [{ id: home, meters: { file: meters.csv }, sites: { file: sites.csv } }]',
  );
  writeFileSync(
    join(cwd, 'meters.csv'),
    `\ufeffCode;Name;direction;multiplier;device;source\r\nA;Feed-in, north;export;40;;\r\n\r\nB;;;;${DEVICE};roof\r\n`,
  );
  writeFileSync(
    join(cwd, 'sites.csv'),
    `site,meter,device,source,sign,from,to\nroof,A,,,-1,2026-01-01,2026-12-31\nall,A,,,,,\nroof,,${DEVICE},roof,,,\nall,,${DEVICE},,1,2026-02-01,\n`,
  );
  const [workgroup] = loadConfig({ cwd, environment: {} }).workgroups;
  expect(workgroup!.meters).toEqual([
    { code: 'A', name: 'Feed-in, north', direction: 'export', multiplier: 40 },
    { code: 'B', device: DEVICE, source: 'roof', multiplier: 1 },
  ]);
  expect(workgroup!.sites).toMatchObject([
    {
      name: 'roof',
      meters: [{ code: 'A', sign: -1, from: '2026-01-01', to: '2026-12-31' }],
      devices: [{ id: DEVICE, source: 'roof', sign: 1 }],
    },
    { name: 'all', meters: [{ code: 'A', sign: 1 }], devices: [{ id: DEVICE, sign: 1, from: '2026-02-01' }] },
  ]);
});

test('the files of the documentation are read', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
  const [meters, sites] = [...page.matchAll(/```csv\n(.*?)```/gs)].map(([, text]) => text);
  const { workgroups } = configSchema.parse({ workgroups: [{ id: 'home', meters, sites }] });
  expect(workgroups[0]!.meters.map(({ code, device, multiplier }) => [code, device, multiplier])).toEqual([
    ['GRID-1', undefined, 40],
    ['PV', DEVICE, 1],
  ]);
  expect(workgroups[0]!.sites).toMatchObject([
    {
      name: 'roof',
      meters: [{ code: 'GRID-1', to: '2026-12-31' }],
      devices: [{ id: DEVICE, source: 'total' }],
    },
  ]);
});
