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

  expect(await at.csv('sites')).toEqual([
    'site,meters,device_ids',
    `house,GRID-1,${ROOF}`,
    `yard,,${GARAGE}`,
  ]);
  expect(await at.csv('meters')).toEqual([
    'meter,meter_name,device,source,sites',
    'GRID-1,street,,,house',
    `PV,,${GARAGE},,`,
  ]);

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
  const [titles, line, ...others] = await at.csv('tokens');
  expect(titles).toBe('token,subject,permissions,device_groups,issued_at,expires_at,state,revoked_at');
  expect(line).toMatch(/^[0-9a-f-]{36},test,search:read,garage,2\d{3}-\S+Z,2\d{3}-\S+Z,active,$/);
  expect(others).toEqual([]);
  for (const permission of ['search:read', 'org:audit'] as const) {
    const less = await at.issue({ permissions: [permission] });
    expect((await at.get('tokens', { token: less })).status).toBe(403);
    expect((await at.get('audit', { token: less })).status).toBe(403);
  }
});

/** Answers about one thing: a state, settings, or the parts of one day. */
const single = ['status', 'workgroup', 'daily-energy/explain'];

test('every list of the OpenAPI description is also answered as rows, in each of the formats', async () => {
  const at = await openService({ workgroups: [workgroup] });
  await at.send(readings(GARAGE, ['2026-05-17T08:00:00Z', 1], ['2026-05-17T09:00:00Z', 2]));
  await at.untilAnswer<{ devices: Array<{ sources: unknown[] }> }>('devices', ({ devices }) =>
    devices.some(({ sources }) => sources.length > 0),
  );
  const root = '/api/v1/orgs/{workgroupId}/';
  const { paths } = (await (await fetch(`${at.service.url}/openapi.json`)).json()) as {
    paths: Record<string, { get?: { parameters: Array<{ name: string; required?: boolean }> } }>;
  };
  const lists = Object.entries(paths).flatMap(([path, { get }]) =>
    get && path.startsWith(root) ? [{ path: path.slice(root.length), parameters: get.parameters }] : [],
  );
  const without = lists.filter(({ parameters }) => !parameters.some(({ name }) => name === 'format'));
  expect(without.map(({ path }) => path).sort()).toEqual([...single].sort());
  const given = {
    startDate: 'startDate=2026-05-17',
    endDate: 'endDate=2026-05-17',
    since: 'since=2026-05-17',
  };
  const types = {
    csv: 'text/csv',
    ndjson: 'application/x-ndjson',
    parquet: 'application/vnd.apache.parquet',
  };
  for (const { path, parameters } of lists.filter(({ path }) => !single.includes(path)))
    for (const [format, type] of Object.entries(types)) {
      const asked = parameters.flatMap(({ name }) => given[name as keyof typeof given] ?? []);
      const site = /variance|reconciliation/.test(path) ? 'house' : 'yard';
      const address = `${path.replace('{site}', site)}?${[...asked, `format=${format}`].join('&')}`;
      const response = await fetch(`${at.service.url}/api/v1/orgs/home/${address}`, {
        headers: { Authorization: `Bearer ${at.service.token}` },
      });
      const text = await response.text();
      expect([address, response.status, response.headers.get('content-type')]).toEqual([
        address,
        200,
        expect.stringContaining(type),
      ]);
      expect(response.headers.get('content-disposition')).toContain(`.${format}"`);
      if (format === 'csv') expect(text).toMatch(/^[a-z_0-9,]+\r\n/);
    }
});
