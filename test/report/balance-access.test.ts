import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { days, energies, home, inverter, meter, range } from './balance-home.ts';
import { type BalanceFixture, openBalance } from './balance-support.ts';

/** Nothing has energy. */
const silent = shared(() =>
  openBalance(
    { ...home, meters: [{ code: 'M' }], sites: [{ name: 'meters', meters: [{ code: 'M' }] }] },
    days,
    [],
  ),
);

test('a token of device groups sees the balance of its devices and of sites that are wholly its own', {
  tags: ['slow'],
}, async () => {
  const at = await openBalance(
    {
      ...home,
      deviceGroups: { tenants: [inverter] },
      sites: [
        { name: 'mine', devices: [{ id: inverter }] },
        { name: 'all', devices: [{ id: inverter }, { id: meter }] },
        // Without members it is the whole workgroup.
        { name: 'everything' },
      ],
    },
    days,
    energies,
  );
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
  const status = async (path: string, as = token) => {
    const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`, { token: as });
    return [
      response.status,
      response.status === 200 ? '' : ((await response.json()) as { message: string }).message,
    ];
  };
  expect(await status(`balance?${range}&device=roof`)).toEqual([200, '']);
  expect(await status(`sites/mine/balance?${range}`)).toEqual([200, '']);
  expect(await status(`balance?${range}`)).toEqual([
    403,
    'the balance of a workgroup needs a token without device groups; ask for one device (device=), or for a site if the token may see all its members',
  ]);
  expect(await status(`balance?${range}&device=meter`)).toEqual([
    404,
    'device: there is no device "meter" here; the devices are roof',
  ]);
  expect(await status(`balance?${range}&device=nobody`)).toEqual([
    404,
    'device: there is no device "nobody" here; the devices are roof',
  ]);
  expect(await status(`sites/mine/balance?${range}&device=nobody`)).toEqual([
    404,
    'device: there is no device "nobody" here; the devices are roof',
  ]);
  expect(await status(`sites/all/balance?${range}`)).toEqual([
    404,
    'site: there is no site "all"; the sites are mine',
  ]);
  expect(await status(`sites/everything/balance?${range}`)).toEqual([
    404,
    'site: there is no site "everything"; the sites are mine',
  ]);
  expect(
    await Promise.all(
      ['mine', 'all', 'everything'].map((site) =>
        status(`sites/${site}/balance?${range}&device=meter`, at.token),
      ),
    ),
  ).toEqual([
    [404, 'device: there is no device "meter" here; the devices are roof'],
    [200, ''],
    [200, ''],
  ]);
  expect(await status(`sites/everything/balance?${range}&device=nobody`, at.token)).toEqual([
    404,
    'device: there is no device "nobody" here; the devices are roof, meter',
  ]);
  const reader = await at.issue({ permissions: ['data:write'] });
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/balance?${range}`, { token: reader });
  expect(response.status).toBe(403);
});

// daily-energy.test.ts tests the tag of a report with data that changes.
test.runIf(isSoak)(
  'the entity tag of an answer is valid until its data or configuration change',
  async () => {
    const at = await openBalance(home, days, energies);
    const path = `/api/v1/orgs/${WORKGROUP}/balance?${range}`;
    const etag = (await at.get(path)).headers.get('etag')!;
    const again = await at.get(path, { headers: { 'If-None-Match': etag } });
    expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
    at.clock.set(at.clock.now() + DAY_MS);
    expect((await at.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    expect((await at.get(`${path}&resolution=month`)).headers.get('etag')).not.toBe(etag);
    await publishMore(at);
    expect((await at.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(200);
  },
);

async function publishMore(at: BalanceFixture): Promise<void> {
  const data = { wh: 5 };
  await landReadings(at.shard, [
    { event_time: '2026-05-20T11:00:00Z', msg_id: 9, device: inverter, source: 'pv', data },
  ]);
  await rollUpSite(at.shard, {
    timezone: 'Europe/Berlin',
    streams: [
      { table: 't', field: 'wh', method: 'interval_energy', unit: 'Wh', interval: '15m', maxPower: '1 GW' },
    ],
  });
  await at.publish();
}

test('the balance of a site without devices is refused', async () => {
  const response = await silent().get(`/api/v1/orgs/${WORKGROUP}/sites/meters/balance?${range}`);
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringMatching(/^site: "meters" has meters alone, /) }),
  ]);
});

test.each([
  ['resolution=week', 400, /resolution: must be one of interval, day, month, year/],
  ['timezone=Mars/Olympus', 400, /timezone: must be an IANA time zone/],
  ['startDate=2026-05-21&endDate=2026-05-20', 400, /the range ends \(2026-05-20\) before it starts/],
  ['startDate=2026-01-01&endDate=2026-04-03&resolution=interval', 400, /93 days, but at most 92 are allowed/],
  ['startDate=2020-01-01&endDate=2026-04-03', 400, /days, but at most 1827 are allowed/],
  ['startDate=2100-01-01', 400, /endDate: is yesterday .* unless it is given/],
  ['device=a&device=b', 400, /device: is given 2 times; give it once/],
])('%s is refused with %i', async (query, status, message) => {
  const response = await silent().get(`/api/v1/orgs/${WORKGROUP}/balance?${query}`);
  expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([
    status,
    expect.stringMatching(message),
  ]);
});

test('a balance without any role is refused with advice', { tags: ['slow'] }, async () => {
  const at = await openBalance({ ...home, roles: [] }, days, energies);
  const get = async (path: string) => {
    const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`);
    return [response.status, ((await response.json()) as { message: string }).message];
  };
  expect(await get(`balance?${range}`)).toEqual([
    404,
    expect.stringMatching(/no source here has a role.*config check/),
  ]);
  expect(await at.analyse('SELECT count(*) FROM balance_daily')).toEqual([[0n]]);
});

test('declared sources without energy are missing', async () => {
  expect((await silent().ask(`balance?${range}`))['2026-05-20']).toMatchObject({
    gridImportWh: null,
    missing: ['grid_export', 'grid_import'],
    flags: ['incomplete', 'undetermined'],
    coverage: 0,
  });
});
