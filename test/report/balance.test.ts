import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/support.ts';
import { landReadings, rollUpSite } from '../rollup/support.ts';
import { deviceId } from '../support/messages.ts';
import { type BalanceFixture, openBalance, type SourceEnergy } from './balance-support.ts';

const [inverter, meter, heat] = [deviceId(1), deviceId(2), deviceId(3)];

const home = {
  timezone: 'Europe/Berlin',
  devices: [
    { id: inverter, name: 'roof', peakPower: [{ kWp: 4 }] },
    { id: meter, name: 'meter' },
  ],
  roles: [
    { source: 'pv', role: 'production' },
    { device: 'meter', source: 'import', role: 'grid_import' },
    { device: 'meter', source: 'export', role: 'grid_export' },
  ],
};
/** 10:00Z and 14:00Z of 20 May; 22:00Z is the first quarter of an hour of 21 May in Berlin. */
const energies: SourceEnergy[] = [
  { device: inverter, source: 'pv', wh: { '2026-05-20T10:00:00Z': 800, '2026-05-20T14:00:00Z': 900 } },
  { device: meter, source: 'import', wh: { '2026-05-20T10:00:00Z': 50, '2026-05-20T22:00:00Z': 70 } },
  { device: meter, source: 'export', wh: { '2026-05-20T10:00:00Z': 200, '2026-05-20T14:00:00Z': 550 } },
];
const days = { from: '2026-05-20', to: '2026-05-21' };
const range = 'startDate=2026-05-20&endDate=2026-05-21';

/** Consumption 800 + 50 - 200 and 900 - 550, then 70. */
const first = {
  intervals: 96,
  days: null,
  completeDays: null,
  productionWh: 1_700,
  consumptionWh: 1_000,
  gridImportWh: 50,
  gridExportWh: 750,
  batteryChargeWh: 0,
  batteryDischargeWh: 0,
  gridNetWh: -700,
  residualWh: 0,
  selfConsumptionWh: 950,
  selfSupplyWh: 950,
  gridToBatteryWh: 0,
  batteryToGridWh: 0,
  selfConsumptionRate: 0.5588,
  autarky: 0.95,
  selfConsumptionMaxWh: null,
  autarkyMax: null,
  specificYield: 0.425,
  coverage: 1,
  computed: ['consumption'],
  missing: [],
  restWh: {},
  parts: [
    { device: inverter, source: 'pv', role: 'production', wh: 1_700, within: null },
    { device: meter, source: 'export', role: 'grid_export', wh: 750, within: null },
    { device: meter, source: 'import', role: 'grid_import', wh: 50, within: null },
  ],
  flags: [],
};

test('a balance is told by interval, day, month and year, and the lake tells the same', async () => {
  const at = await openBalance(home, days, energies);
  const told = await at.ask(`balance?${range}`);
  expect(told).toEqual({
    '2026-05-20': first,
    '2026-05-21': expect.objectContaining({
      consumptionWh: 70,
      gridImportWh: 70,
      specificYield: 0,
      autarky: 0,
    }),
  });
  const sums = {
    productionWh: 1_700,
    consumptionWh: 1_070,
    gridImportWh: 120,
    autarky: 0.8879,
    days: 2,
    completeDays: 2,
  };
  expect(await at.ask(`balance?${range}&resolution=month`)).toEqual({
    '2026-05': expect.objectContaining(sums),
  });
  expect(await at.ask(`balance?${range}&resolution=year`)).toEqual({ '2026': expect.objectContaining(sums) });
  const intervals = await at.ask(`balance?${range}&resolution=interval`);
  expect(Object.keys(intervals)).toHaveLength(192);
  expect(intervals['2026-05-20T10:00:00Z']).toMatchObject({
    consumptionWh: 650,
    selfConsumptionWh: 600,
    parts: [],
  });
  expect(intervals['2026-05-20T22:00:00Z']).toMatchObject({ consumptionWh: 70, gridImportWh: 70 });

  const lake = await at.analyse(
    `SELECT day::VARCHAR, production_wh, consumption_wh, grid_import_wh, grid_export_wh, self_consumption_rate, autarky, specific_yield, coverage,
      array_to_string(computed, ' '), len(flags) FROM balance_daily WHERE scope = 'workgroup' ORDER BY day`,
  );
  expect(lake).toEqual([
    ['2026-05-20', 1_700n, 1_000n, 50n, 750n, 0.5588, 0.95, 0.425, 1, 'consumption', 0n],
    ['2026-05-21', 0n, 70n, 70n, 0n, null, 0, 0, 1, 'consumption', 0n],
  ]);
  expect(
    await at.analyse(
      "SELECT month::VARCHAR, days, complete_days, consumption_wh FROM balance_monthly WHERE scope = 'workgroup'",
    ),
  ).toEqual([['2026-05-01', 2n, 2n, 1_070n]]);
  expect(
    await at.analyse(
      "SELECT count(*), sum(consumption_wh)::BIGINT, sum(residual_wh)::BIGINT FROM balance_interval WHERE scope = 'workgroup'",
    ),
  ).toEqual([[192n, 1_070n, 0n]]);
});

test('days are those of any zone, and of the whole range all zones add up to the same', async () => {
  const at = await openBalance(home, days, energies);
  const utc = await at.ask(`balance?${range}&timezone=Etc/UTC`);
  // Its first two hours are before the first reading, its last two after the last; the last hours of 20 May are in it.
  expect(utc['2026-05-20']).toMatchObject({
    gridImportWh: 120,
    productionWh: 1_700,
    consumptionWh: 1_070,
    intervals: 96,
  });
  expect(utc['2026-05-21']).toMatchObject({
    consumptionWh: null,
    missing: ['grid_export', 'grid_import', 'production'],
  });
  // Its 20 May begins 14 intervals before the first reading.
  const kolkata = await at.ask(`balance?${range}&timezone=Asia/Kolkata`);
  expect(kolkata['2026-05-20']).toMatchObject({
    gridImportWh: null,
    flags: ['incomplete'],
    coverage: 0.8542,
  });
  expect(kolkata['2026-05-21']).toMatchObject({ gridImportWh: 70, flags: [], coverage: 1 });
});

test('a device and a site are balanced by themselves, by name or id, with signs and without what is not theirs', async () => {
  const at = await openBalance(
    {
      ...home,
      devices: [...home.devices, { id: heat, name: 'heat' }],
      roles: [
        ...home.roles,
        { device: 'meter', source: 'house', role: 'consumption' },
        { device: 'heat', source: 'pump', role: 'consumption', within: 'meter.house' },
        { device: 'heat', source: 'rod', role: 'consumption', within: 'site' },
      ],
      sites: [
        {
          name: 'flat',
          devices: [
            { id: meter, source: 'house' },
            { id: heat, source: 'pump', sign: -1 },
          ],
        },
        { name: 'roof', devices: [{ id: inverter }, { id: heat, source: 'rod' }], absent: ['grid_import'] },
        { name: 'later', devices: [{ id: meter, from: '2026-05-21' }] },
      ],
    },
    days,
    [
      ...energies,
      {
        device: meter,
        source: 'house',
        wh: { '2026-05-20T10:00:00Z': 640, '2026-05-20T14:00:00Z': 350 },
        unlistedWh: 0,
      },
      { device: heat, source: 'pump', wh: { '2026-05-20T10:00:00Z': 200 } },
      { device: heat, source: 'rod', wh: { '2026-05-20T14:00:00Z': 100 } },
    ],
  );
  const one = 'startDate=2026-05-20&endDate=2026-05-20';
  const whole = (await at.ask(`balance?${one}`))['2026-05-20']!;
  // 990 measured, 1,700 + 50 - 750 = 1,000 computed.
  expect(whole).toMatchObject({
    consumptionWh: 990,
    residualWh: 10,
    restWh: { [`${meter}.house`]: 790, site: 890 },
    flags: [],
  });
  expect(whole.parts.filter(({ device }) => device === heat)).toEqual([
    { device: heat, source: 'pump', role: 'consumption', wh: 200, within: `${meter}.house` },
    { device: heat, source: 'rod', role: 'consumption', wh: 100, within: 'site' },
  ]);
  for (const name of ['heat', 'HEAT', heat])
    expect((await at.ask(`balance?${one}&device=${name}`))['2026-05-20']).toMatchObject({
      consumptionWh: 300,
      gridImportWh: 300,
      restWh: {},
    });
  // What the house contains is taken away from it by its sign.
  expect((await at.ask(`sites/flat/balance?${one}`))['2026-05-20']).toMatchObject({
    consumptionWh: 790,
    restWh: {},
  });
  // What is produced is used or goes into the grid, and nothing comes from there.
  expect((await at.ask(`sites/roof/balance?${one}`))['2026-05-20']).toMatchObject({
    gridImportWh: 0,
    consumptionWh: null,
    flags: ['undetermined'],
  });
  expect((await at.ask(`sites/roof/balance?${one}&device=heat`))['2026-05-20']).toMatchObject({
    productionWh: 0,
    consumptionWh: 100,
    gridImportWh: 0,
    residualWh: -100,
    flags: ['imbalance'],
  });
  const later = await at.ask(`sites/later/balance?${range}`);
  expect(later['2026-05-20']).toMatchObject({ consumptionWh: null, flags: ['undetermined'], parts: [] });
  expect(later['2026-05-21']).toMatchObject({ consumptionWh: 0, gridImportWh: 70 });

  const scopes = await at.analyse(
    `SELECT scope, site, production_wh, consumption_wh, grid_import_wh, rest['site'] FROM balance_daily
     WHERE day = '2026-05-20' AND scope <> 'device' ORDER BY ALL NULLS FIRST`,
  );
  expect(scopes).toEqual([
    ['site', 'flat', 0n, 790n, 790n, null],
    ['site', 'later', 0n, null, null, null],
    ['site', 'roof', 1_700n, null, 0n, null],
    ['workgroup', null, 1_700n, 990n, 50n, 890n],
  ]);
});

test('a workgroup of several sites does not set them off against each other', async () => {
  const energy = [
    { device: inverter, source: 'pv', wh: { '2026-05-20T10:00:00Z': 800 } },
    { device: heat, source: 'load', wh: { '2026-05-20T10:00:00Z': 500 } },
  ];
  const settings = {
    roles: [
      { source: 'pv', role: 'production' },
      { source: 'load', role: 'consumption' },
    ],
  };
  const site = (name: string, id: string) => ({ name, devices: [{ id }] });
  const one = 'balance?startDate=2026-05-20&endDate=2026-05-20';
  const at = await openBalance({ ...settings, sites: [site('a', inverter), site('b', heat)] }, days, energy);
  expect((await at.ask(one))['2026-05-20']).toMatchObject({
    gridImportWh: null,
    gridExportWh: null,
    gridNetWh: -300,
    residualWh: 0,
    computed: [],
    flags: ['undetermined'],
  });
  const alone = await openBalance({ ...settings, sites: [site('a', inverter)] }, days, energy);
  expect((await alone.ask(one))['2026-05-20']).toMatchObject({ gridExportWh: 300, flags: ['netted'] });
});

test('a site without members is all there is, and a workgroup lacks what its only site lacks', async () => {
  const settings = { ...home, roles: home.roles.slice(0, 2), deviceGroups: { tenants: [inverter] } };
  const only = [{ name: 'home', absent: ['grid_export'] }];
  const at = await openBalance({ ...settings, sites: only }, days, energies);
  const one = 'startDate=2026-05-20&endDate=2026-05-20';
  const [whole, site] = [await at.ask(`balance?${one}`), await at.ask(`sites/home/balance?${one}`)];
  expect(whole['2026-05-20']).toMatchObject({
    gridExportWh: 0,
    consumptionWh: 1_750,
    computed: ['consumption'],
  });
  expect(site).toEqual(whole);
  expect(
    await at.analyse(
      "SELECT scope, consumption_wh FROM balance_daily WHERE day = '2026-05-20' AND scope <> 'device' ORDER BY 1",
    ),
  ).toEqual([
    ['site', 1_750n],
    ['workgroup', 1_750n],
  ]);
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
  expect((await at.get(`/api/v1/orgs/${WORKGROUP}/sites/home/balance?${one}`, { token })).status).toBe(404);

  const two = await openBalance({ ...settings, sites: [...only, { name: 'x' }] }, days, energies);
  expect((await two.ask(`balance?${one}`))['2026-05-20']).toMatchObject({ flags: ['undetermined'] });
});

test('a token of device groups sees the balance of its devices and of sites that are wholly its own', async () => {
  const at = await openBalance(
    {
      ...home,
      deviceGroups: { tenants: [inverter] },
      sites: [
        { name: 'mine', devices: [{ id: inverter }] },
        { name: 'all', devices: [{ id: inverter }, { id: meter }] },
      ],
    },
    days,
    energies,
  );
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['tenants'] });
  const status = async (path: string) => {
    const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`, { token });
    return [
      response.status,
      response.status === 200 ? '' : ((await response.json()) as { message: string }).message,
    ];
  };
  expect(await status(`balance?${range}&device=roof`)).toEqual([200, '']);
  expect(await status(`sites/mine/balance?${range}`)).toEqual([200, '']);
  expect(await status(`balance?${range}`)).toEqual([
    403,
    'the balance of a workgroup needs a token without device groups; ask for a device (device=) or a site that it sees as a whole',
  ]);
  expect(await status(`balance?${range}&device=meter`)).toEqual([
    404,
    'device: there is no device "meter" here',
  ]);
  expect(await status(`balance?${range}&device=nobody`)).toEqual([
    404,
    'device: there is no device "nobody" here',
  ]);
  expect(await status(`sites/all/balance?${range}`)).toEqual([
    404,
    'site: there is no site "all"; the sites are mine',
  ]);
  const reader = await at.issue({ permissions: ['data:write'] });
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/balance?${range}`, { token: reader });
  expect(response.status).toBe(403);
});

test('an answer has an entity tag that holds until what it follows from has changed', async () => {
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
});

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

test.each([
  ['resolution=week', 400, /resolution: must be one of interval, day, month, year/],
  ['timezone=Mars/Olympus', 400, /timezone: must be an IANA time zone/],
  ['startDate=2026-05-21&endDate=2026-05-20', 400, /the range ends \(2026-05-20\) before it starts/],
  ['startDate=2026-01-01&endDate=2026-04-03&resolution=interval', 400, /93 days and 92 are the most/],
  ['startDate=2020-01-01&endDate=2026-04-03', 400, /days and 1827 are the most/],
  ['startDate=2100-01-01', 400, /endDate: is yesterday .* unless it is given/],
  ['device=a&device=b', 400, /device: is given 2 times; give it once/],
])('%s is refused with %i', async (query, status, message) => {
  const at = await openBalance(home, days, []);
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/balance?${query}`);
  expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([
    status,
    expect.stringMatching(message),
  ]);
});

test('without any role there is nothing to balance, and it says what to do', async () => {
  const at = await openBalance(
    { ...home, roles: [], meters: [{ code: 'M' }], sites: [{ name: 'meters', meters: [{ code: 'M' }] }] },
    days,
    energies,
  );
  const get = async (path: string) => {
    const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`);
    return [response.status, ((await response.json()) as { message: string }).message];
  };
  expect(await get(`balance?${range}`)).toEqual([
    404,
    expect.stringMatching(/no source here has a role.*config check/),
  ]);
  expect(await get(`sites/meters/balance?${range}`)).toEqual([
    400,
    expect.stringMatching(/"meters" has meters alone/),
  ]);
  expect(await at.analyse('SELECT count(*) FROM balance_daily')).toEqual([[0n]]);
});

test('sources that are declared and never came are missing', async () => {
  const at = await openBalance(home, days, []);
  expect((await at.ask(`balance?${range}`))['2026-05-20']).toMatchObject({
    gridImportWh: null,
    missing: ['grid_export', 'grid_import'],
    flags: ['incomplete', 'undetermined'],
    coverage: 0,
  });
});
