// @module-tag slow
import { expect, test } from 'vitest';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak, sampled } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { days, energies, heat, home, inverter, meter, range } from './balance-home.ts';
import { openBalance } from './balance-support.ts';

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

const usual = shared(() => openBalance(home, days, energies));

test('a balance by interval, day, month and year equals the one of the lake', async () => {
  const at = usual();
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

test('days can be of any zone, and the whole range adds up to the same in every zone', async () => {
  const at = usual();
  const utc = await at.ask(`balance?${range}&timezone=Etc/UTC`);
  // Its first two hours are before the first reading, its last two after the last; the last hours of 20 May
  // are in it.
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

test('a device or a site is balanced by itself, by name or id, with signs and without other devices', async () => {
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
  for (const name of sampled(['HEAT', 'heat', heat], 3))
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
      { device: meter, source: 'other', role: 'other' },
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
  // The meter has no scope, because it has no role in the balance.
  expect(
    await at.analyse(
      `SELECT scope, site, device::VARCHAR, grid_import_wh, grid_export_wh FROM balance_daily
       WHERE day = '2026-05-20' ORDER BY ALL NULLS FIRST`,
    ),
  ).toEqual([
    ['device', null, inverter, null, null],
    ['device', null, heat, 500n, 0n],
    ['site', 'a', null, null, null],
    ['site', 'b', null, 500n, 0n],
    ['workgroup', null, null, null, null],
  ]);
  const alone = await openBalance({ ...settings, sites: [site('a', inverter)] }, days, energy);
  expect((await alone.ask(one))['2026-05-20']).toMatchObject({ gridExportWh: 300, flags: ['netted'] });
});

// balance-golden.test.ts has roles that are absent, and the test above a workgroup of sites.
test.runIf(isSoak)(
  'a site without members has all devices, and a workgroup lacks the roles that its only site lacks',
  async () => {
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
  },
);
