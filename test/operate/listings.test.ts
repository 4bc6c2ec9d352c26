import { expect, test } from 'vitest';
import { GARAGE, homeWorkgroup, openService, ROOF, readings } from './support.ts';

const workgroup = {
  ...homeWorkgroup,
  roles: [{ source: 'default', role: 'production' as const }],
  meters: [
    { code: 'GRID-1', name: 'street' },
    { code: 'PV', device: GARAGE },
  ],
  sites: [
    { name: 'house', meters: [{ code: 'GRID-1' }], devices: [{ id: ROOF }] },
    { name: 'yard', meters: [], devices: [{ id: GARAGE }] },
  ],
};

test('devices, sites and meters have names and roles, and a token sees its own', async () => {
  const at = await openService({ workgroups: [workgroup] });
  await at.send(readings(GARAGE, ['2026-05-17T08:00:00Z', 1], ['2026-05-17T09:00:00Z', 2]));
  const { devices } = await at.untilAnswer<{
    devices: Array<{ id: string; lastSeen: string | null; sources: unknown[] }>;
  }>('devices', (answer) => answer.devices.some(({ sources }) => sources.length > 0));
  expect(devices).toMatchObject([
    { id: ROOF, name: 'roof', state: 'unknown', lastSeen: null, sites: ['house'], meters: [], sources: [] },
    {
      id: GARAGE,
      name: 'garage',
      sites: ['yard'],
      meters: ['PV'],
      sources: [{ source: 'default', role: 'production', negativeRole: null, from: null, to: null }],
    },
  ]);
  const [heading, roof, garage, ...more] = await at.csv('devices');
  expect(heading).toBe(
    'device,device_name,state,since,reason,last_seen,source,role,negative_role,role_from,role_to,sites,meters',
  );
  expect(roof).toBe(`${ROOF},roof,unknown,,,,,,,,,house,`);
  expect(garage).toMatch(
    new RegExp(`^${GARAGE},garage,unknown,,,2\\d{3}-[^,]+Z,default,production,,,,yard,PV$`),
  );
  expect(more).toEqual([]);
  expect((await at.get('sites')).body).toEqual({
    sites: [
      { name: 'house', meters: ['GRID-1'], devices: [{ id: ROOF, name: 'roof' }] },
      { name: 'yard', meters: [], devices: [{ id: GARAGE, name: 'garage' }] },
    ],
  });
  expect((await at.get('meters')).body).toEqual({
    meters: [
      { code: 'GRID-1', name: 'street', device: null, source: null, sites: ['house'] },
      { code: 'PV', name: null, device: GARAGE, source: null, sites: [] },
    ],
  });

  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const own = async (path: string) => (await at.get(path, { token })).body;
  expect(await own('devices')).toMatchObject({ devices: [{ id: GARAGE }] });
  expect(await own('sites')).toMatchObject({ sites: [{ name: 'yard' }] });
  expect(await own('meters')).toMatchObject({ meters: [{ code: 'PV' }] });

  await at.issue({ permissions: ['org:admin'] }, 'elsewhere');
  const tokens = (await at.get('tokens')).body as { tokens: Array<{ subject: string }>; total: number };
  expect(tokens).toMatchObject({
    tokens: [
      {
        subject: 'test',
        permissions: ['search:read'],
        deviceGroups: ['garage'],
        state: 'active',
        revokedAt: null,
      },
    ],
    total: 1,
  });
  expect(JSON.stringify(tokens)).not.toContain(token);
  for (const permission of ['search:read', 'org:audit'] as const) {
    const less = await at.issue({ permissions: [permission] });
    expect((await at.get('tokens', { token: less })).status).toBe(403);
    expect((await at.get('audit', { token: less })).status).toBe(403);
  }
});
