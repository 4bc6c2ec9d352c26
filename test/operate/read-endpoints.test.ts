// @module-tag slow
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusAnswer } from '../../src/operate/status-schema.ts';
import { isFull, isSoak, WAIT_MS_MAX } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { GARAGE, homeWorkgroup, openSharedService, ROOF, readings } from './operate-fixture.ts';

const DAY = '2026-05-17';
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

let shared: Awaited<ReturnType<typeof openSharedService>>;
beforeAll(async () => {
  // Each workgroup costs a second of the processor. Only slow tests ask for the states.
  const ids = ['rows', 'rejections', ...(isFull ? ['states'] : [])];
  shared = await openSharedService(ids, workgroup);
  await shared.of('rows').send(readings(GARAGE, [`${DAY}T08:00:00Z`, 1], [`${DAY}T09:00:00Z`, 2]));
});
afterAll(() => shared?.close());

test('the status has one state with its reason, and the facts of the command line', async () => {
  const at = shared.of('states');
  await at.send([
    ...readings(GARAGE, ['2026-05-16T22:00:00Z', 1_000], ['2026-05-17T10:00:00Z', 2_000]),
    ...readings(ROOF, ['2026-05-17T11:00:00Z', 7]),
  ]);
  const status = await at.untilAnswer<StatusAnswer>(
    'status',
    ({ storedMessages, newestReadingAt }) => storedMessages === 3 && newestReadingAt !== null,
  );
  expect(status).toMatchObject({
    workgroup: 'states',
    timezone: 'Europe/Paris',
    state: 'running',
    health: 'good',
    reason: 'all is well',
    findings: [],
    newestReadingAt: '2026-05-17T11:00:00.000Z',
    lastHour: { messages: 3, quarantined: 0 },
    gaps: 0,
    quarantined: 0,
    troubles: [],
    problems: [],
    stages: { poll: { transport: 'rest', upToDate: true, lagMessages: 0, lastError: null } },
  });
  const cli = await runCommand(['status', '--json', '-w', 'states'], { cwd: shared.cwd });
  const [listed] = JSON.parse(cli.stdout) as [Record<string, never>];
  expect(listed).toMatchObject({
    state: status.state,
    storedMessages: 3,
    lastHour: status.lastHour,
    newestReadingAtMs: Date.parse(status.newestReadingAt!),
    publish: { generation: expect.any(Number) },
  });

  const text = await at.get('status');
  const again = await at.get('status', { headers: { 'If-None-Match': text.etag! } });
  expect([200, 304]).toContain(again.status);
});

test('the status needs a token for the whole workgroup', async () => {
  const at = shared.of('rejections');
  const group = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const writer = await at.issue({ permissions: ['data:write'] });
  const of = async (path: string, token: string) => (await at.get(path, { token })).status;
  for (const path of ['status', 'gaps', 'backfills', 'imports', 'exports', 'audit']) {
    expect([path, await of(path, group)]).toEqual([path, 403]);
    expect([path, await of(path, writer)]).toEqual([path, 403]);
    expect([path, await of(path, 'x')]).toEqual([path, 401]);
    expect([path, await of(`${path}?strange=1`, shared.service.token)]).toEqual([path, 400]);
  }
  expect((await at.ask('PUT', 'status')).status).toBe(405);
});

test('devices, sites and meters have names and roles, and a token sees its own', async () => {
  const at = shared.of('rows');
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

  await shared.issueFor('elsewhere', { permissions: ['org:admin'] });
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

/** The site that has what an address is about: a meter, or a device with energy. */
const siteOf = (path: string) => (/variance|reconciliation/.test(path) ? 'house' : 'yard');

/** Answers about one thing: a state, settings, or the parts of one day. */
const single = ['status', 'workgroup', 'daily-energy/explain'];

test('every list of the OpenAPI description is also answered as rows, in the formats in turn', async () => {
  const at = shared.of('rows');
  await at.untilAnswer<{ devices: Array<{ sources: unknown[] }> }>('devices', ({ devices }) =>
    devices.some(({ sources }) => sources.length > 0),
  );
  const root = '/api/v1/orgs/{workgroupId}/';
  const { paths } = (await (await fetch(`${shared.service.url}/openapi.json`)).json()) as {
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
  // One format for each list, and in a soak all.
  for (const [index, { path, parameters }] of lists.filter(({ path }) => !single.includes(path)).entries())
    for (const [format, type] of Object.entries(types).filter((_, turn) => isSoak || turn === index % 3)) {
      const asked = parameters.flatMap(({ name }) => given[name as keyof typeof given] ?? []);
      const address = `${path.replace('{site}', siteOf(path))}?${[...asked, `format=${format}`].join('&')}`;
      const response = await fetch(`${shared.service.url}/api/v1/orgs/rows/${address}`, {
        headers: { Authorization: `Bearer ${shared.service.token}` },
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

interface Answer {
  total: number;
  groups: Array<{ kind: string; reason: string; count: number; samples: unknown[] }>;
  setAside: unknown[];
}

test('rejected readings are grouped by reason with samples, cut to the devices of a token', async () => {
  const at = shared.of('rejections');
  await at.send([
    ...readings(GARAGE, ['2026-05-17T08:00:00Z', 'n/a'], ['2026-05-17T09:00:00Z', 'n/a']),
    ...readings(ROOF, ['2026-05-17T10:00:00Z', 'broken'], ['2026-05-17T11:00:00Z', 5]),
  ]);
  const answer = await at.untilAnswer<Answer>('quarantine', ({ total }) => total === 3);
  expect(answer.setAside).toEqual([]);
  expect(answer.groups).toMatchObject([
    {
      kind: 'reading',
      count: 3,
      devices: 2,
      firstAt: '2026-05-17T08:00:00.000Z',
      lastAt: '2026-05-17T10:00:00.000Z',
    },
  ]);
  expect(answer.groups[0]!.samples).toContainEqual({
    device: GARAGE,
    source: 'default',
    field: 'total_wh',
    eventTime: '2026-05-17T08:00:00.000Z',
    detail: null,
    text: expect.stringContaining('n/a'),
    encoding: 'text',
    bytes: null,
  });
  const [heading, ...rows] = await at.csv('quarantine');
  expect(heading).toBe('item,reason,items,devices,first_at,last_at');
  expect(rows).toEqual([`reading,${answer.groups[0]!.reason},3,2,2026-05-17T08:00:00Z,2026-05-17T10:00:00Z`]);
  const one = (await at.get('quarantine?samples=1')).body as Answer;
  expect(one.groups[0]!.samples).toHaveLength(1);
  expect((await at.get('quarantine?samples=21')).status).toBe(400);

  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  const own = (await at.get('quarantine', { token })).body as Answer;
  expect(own.total).toBe(2);
  expect(JSON.stringify(own)).not.toContain(ROOF);
  expect((await at.get(`quarantine?devices=${ROOF}`, { token })).body).toMatchObject({
    status: 400,
    parameter: 'devices',
  });

  const retried = await at.ask('POST', 'quarantine/retry', { body: {} });
  expect(retried).toMatchObject({ status: 200, body: { series: 0, messages: 0, backfill: null } });
  expect(await at.ask('POST', 'quarantine/retry')).toMatchObject({ status: 200 });
  expect(await at.ask('POST', 'quarantine/retry', { body: { device: 'x' } })).toMatchObject({
    status: 400,
    body: { parameter: 'device' },
  });
});

const queries: Readonly<Record<string, string>> = {
  'daily-energy/explain': `?device=${GARAGE}&day=${DAY}`,
  'daily-energy/changes': `?since=${DAY}`,
  'meter-data': `?startDate=${DAY}&endDate=${DAY}`,
  'meter-data/details': `?startDate=${DAY}&endDate=${DAY}`,
  'budget-data': `?startDate=${DAY}&endDate=${DAY}`,
  'budget-data/details': `?startDate=${DAY}&endDate=${DAY}`,
  'sites/{site}/reconciliation': `?startDate=${DAY}&endDate=${DAY}`,
  'sites/{site}/variance': `?startDate=${DAY}&endDate=${DAY}`,
};

test('every address below /orgs has an ETag, answers HEAD as GET without the body, and 304', async () => {
  const at = shared.of('rows');
  await at.untilAnswer<Record<string, object>>(
    `daily-energy?startDate=${DAY}&endDate=${DAY}`,
    (answer) => Object.keys(answer[DAY] ?? {}).length > 0,
  );
  const { paths } = (await (await fetch(`${shared.service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const root = '/api/v1/orgs/{workgroupId}/';
  const names = Object.keys(paths).flatMap((path) =>
    path.startsWith(root) && 'get' in paths[path]! ? [path.slice(root.length)] : [],
  );
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const path = name.replace('{site}', siteOf(name)) + (queries[name] ?? '');
    // An answer with a time that moves, such as the status, is asked for again.
    await expect
      .poll(
        async () => {
          const got = await at.get(path);
          const head = await at.ask('HEAD', path);
          const again = await at.get(path, { headers: { 'If-None-Match': got.etag ?? '' } });
          return [
            name,
            got.status,
            head.status,
            head.etag === got.etag && head.type === got.type,
            head.body,
            again.status,
          ];
        },
        { timeout: WAIT_MS_MAX },
      )
      .toEqual([name, 200, 200, true, null, 304]);
  }
});
