import { expect, test } from 'vitest';
import { configSchema, zodProblems } from '../../src/config.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function problemsOf(workgroup: object): string[] {
  const parsed = configSchema.safeParse({ workgroups: [{ id: 'home', ...workgroup }] });
  return parsed.success ? [] : zodProblems(parsed.error).map(({ path, message }) => `${path}: ${message}`);
}

test('meters and sites have defaults for what is not said', () => {
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
    { name: 'roof', meters: [{ code: 'GRID-1', sign: 1 }], devices: [{ id: DEVICE, sign: 1 }] },
  ]);
});

test('members may come and go, and a device be a member by two of its sources', () => {
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
    /^workgroups.0.meters.0.source: is of a device/,
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
    /^workgroups.0.sites.0.meters.1.code: "A" is a member already/,
  ],
  [
    'a device as a whole and one of its sources',
    { sites: [{ name: 'a', devices: [{ id: DEVICE }, { id: DEVICE, source: 'roof' }] }] },
    /^workgroups.0.sites.0.devices.1.id: .* is a member already/,
  ],
])('%s is refused with its path', (_, workgroup, expected) => {
  expect(problemsOf(workgroup)).toEqual([expect.stringMatching(expected)]);
});
