import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { registerListingRoutes } from '../../src/operate/listing-routes.ts';
import { createOperatorGuard } from '../../src/operate/operator-guard.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { workgroupConfig } from '../report/report-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';

const [GARAGE, ROOF] = [deviceId(1), deviceId(2)];
const workgroup = workgroupConfig({
  devices: [{ id: ROOF }, { id: GARAGE, name: 'garage', sources: ['west', 'east'], totalSource: 'all' }],
  deviceGroups: { tenants: [ROOF] },
  roles: [
    { source: 'east', role: 'grid_import', negativeRole: 'grid_export', to: '2026-04-30' },
    { source: 'east', role: 'production', from: '2026-05-01' },
    { device: 'garage', source: 'attic', role: 'consumption' },
  ],
  meters: [
    { code: 'A', device: GARAGE, multiplier: 1 },
    { code: 'B', name: 'street', device: ROOF, source: 'east', multiplier: 1 },
  ],
  sites: [
    {
      ...{ name: 'house', absent: [] },
      meters: [
        { code: 'A', sign: 1, to: '2026-04-30' },
        { code: 'B', sign: 1 },
        { code: 'A', sign: -1, from: '2026-05-01' },
      ],
      devices: [
        { id: ROOF, source: 'east', sign: 1 },
        { id: GARAGE, sign: 1 },
        { id: ROOF, source: 'west', sign: 1 },
      ],
    },
    { ...{ name: 'yard', absent: [], meters: [] }, devices: [{ id: ROOF, sign: 1 }] },
  ],
} as unknown as Parameters<typeof workgroupConfig>[0]);

/** Answers of a workgroup that has published nothing yet. */
async function setUp() {
  const dataDir = tempDir();
  const access = await createAccess({ dataDir, issuer: 'wattline', clock: systemClock });
  const lake = await openLakeReader({ lakeDir: tempDir(), threads: 1 });
  onTestFinished(() => lake.close());
  const app = createHttpServer({
    ...{ logger: silentLogger, access, requestsPerMinuteMax: 1_000, clock: systemClock },
  });
  const workgroups = createWorkgroups({ workgroups: [workgroup] });
  registerListingRoutes(app, { guard: createOperatorGuard({ audit: undefined, workgroups }), lake });
  return async (path: string, deviceGroups?: string[]) => {
    const scope = { permissions: ['search:read'] as const, ...(deviceGroups && { deviceGroups }) };
    const request = { subject: 'test', scopes: { [WORKGROUP]: scope }, lifetimeMs: HOUR_MS };
    const { token } = await access.issue(request as unknown as Parameters<typeof access.issue>[0]);
    const headers = { authorization: `Bearer ${token}` };
    return (await app.inject({ url: `/api/v1/orgs/${WORKGROUP}/${path}`, headers })).json();
  };
}

const none = { role: null, negativeRole: null, from: null, to: null };
const unknown = { state: 'unknown', since: null, reason: null, lastSeen: null };

test('devices have the sources that only the configuration names, in order, with each of their roles', async () => {
  const get = await setUp();
  expect(await get('devices')).toEqual({
    devices: [
      {
        ...{ id: GARAGE, name: 'garage', ...unknown, sites: ['house'], meters: ['A'] },
        sources: [
          { source: 'all', ...none },
          { ...none, source: 'attic', role: 'consumption' },
          { ...none, source: 'east', role: 'grid_import', negativeRole: 'grid_export', to: '2026-04-30' },
          { ...none, source: 'east', role: 'production', from: '2026-05-01' },
          { source: 'west', ...none },
        ],
      },
      { id: ROOF, name: null, ...unknown, sites: ['house', 'yard'], meters: ['B'], sources: [] },
    ],
  });
});

test('a meter or a device that a site names twice is listed once', async () => {
  const get = await setUp();
  const roof = { id: ROOF, name: null };
  expect(await get('sites')).toEqual({
    sites: [
      { name: 'house', meters: ['A', 'B'], devices: [roof, { id: GARAGE, name: 'garage' }] },
      { name: 'yard', meters: [], devices: [roof] },
    ],
  });
  expect(await get('meters')).toEqual({
    meters: [
      { code: 'A', name: null, device: GARAGE, source: null, sites: ['house'] },
      { code: 'B', name: 'street', device: ROOF, source: 'east', sites: ['house'] },
    ],
  });
});

test('a token of device groups sees its devices, and the sites of which it sees all', async () => {
  const get = await setUp();
  const own = (path: string) => get(path, ['tenants']);
  expect(await own('devices')).toMatchObject({ devices: [{ id: ROOF, sites: ['yard'], meters: ['B'] }] });
  expect(await own('sites')).toMatchObject({ sites: [{ name: 'yard' }] });
  expect(await own('meters')).toMatchObject({ meters: [{ code: 'B', sites: [] }] });
});
