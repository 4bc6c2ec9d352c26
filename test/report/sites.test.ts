import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import type { Reconciliation } from '../../src/report/reconciliation.ts';
import type { Variance } from '../../src/report/variance.ts';
import { storeDays } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { budget, budgets, intervals, openMeters, readings } from './meter-support.ts';

const range = (startDate: string, endDate: string, more = '') =>
  `startDate=${startDate}&endDate=${endDate}${more && `&${more}`}`;

test('a site is reconciled by signs and days of validity, over days with complete members', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    meters: [{ code: 'OUT' }, { code: 'IN' }, { code: 'NEW', device: deviceId(3) }],
    sites: [
      {
        name: 'roof',
        meters: [
          { code: 'OUT' },
          { code: 'IN', sign: -1, to: '2026-05-03' },
          { code: 'NEW', from: '2026-05-04' },
        ],
        devices: [
          { id: deviceId(1), source: 'pv' },
          { id: deviceId(2), sign: -1 },
        ],
      },
    ],
  });
  await storeDays(at.shard, [
    ...['2026-05-01', '2026-05-02', '2026-05-03', '2026-05-04'].map((day) => ({
      day,
      device: 1,
      source: 'pv',
      energyWh: 1_000,
    })),
    { day: '2026-05-01', device: 1, source: 'other', energyWh: 9_999 },
    ...['2026-05-01', '2026-05-02', '2026-05-04'].map((day) => ({ day, device: 2, energyWh: 100 })),
    { day: '2026-05-04', device: 3, energyWh: 60, flags: 1 },
  ]);
  // The second day of IN lacks its last hour.
  await at.put(
    intervals(
      ...readings('OUT', '2026-05-01T00:00Z', 24, [920, 950, 950, 850]),
      ...readings('IN', '2026-05-01T00:00Z', 1, Array(47).fill(1)),
      ...readings('IN', '2026-05-03T00:00Z', 24, [10]),
    ),
  );
  const answer = await at.ask<Reconciliation>(
    `sites/roof/reconciliation?${range('2026-05-01', '2026-05-05')}`,
  );
  expect(answer).toEqual({
    site: 'roof',
    timezone: 'Etc/UTC',
    months: { '2026-05': expect.objectContaining({ days: 5, completeDays: 2, differenceWh: 6 }) },
    // 896 + 910 against 900 + 900.
    total: {
      days: 5,
      completeDays: 2,
      metersWh: 1_806,
      devicesWh: 1_800,
      differenceWh: 6,
      differencePercent: 0.33,
    },
    days: {
      '2026-05-01': {
        metersWh: 896,
        devicesWh: 900,
        differenceWh: -4,
        differencePercent: -0.45,
        estimated: false,
      },
      '2026-05-04': {
        metersWh: 910,
        devicesWh: 900,
        differenceWh: 10,
        differencePercent: 1.1,
        estimated: true,
      },
    },
    incompleteDays: {
      '2026-05-02': [{ meter: 'IN', reason: 'readings cover 95.8 % of the day' }],
      '2026-05-03': [{ device: deviceId(2), reason: 'no energy is known' }],
      '2026-05-05': [
        { meter: 'OUT', reason: 'no energy is known' },
        { meter: 'NEW', reason: 'no energy is known' },
        { device: deviceId(1), source: 'pv', reason: 'no energy is known' },
        { device: deviceId(2), reason: 'no energy is known' },
      ],
    },
  });
});

test('months are reconciled as far as they are in the range, over their complete days', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1) }] }],
  });
  await storeDays(at.shard, [
    { day: '2026-04-30', device: 1, energyWh: 200 },
    { day: '2026-05-01', device: 1, energyWh: 240 },
  ]);
  await at.put(intervals(...readings('GRID-1', '2026-04-30T00:00Z', 1, Array(48).fill(10))));
  const url = `sites/roof/reconciliation?${range('2026-04-29', '2026-05-02')}`;
  const { months, total } = await at.ask<Reconciliation>(url);
  const april = { days: 2, completeDays: 1, metersWh: 240, devicesWh: 200, differenceWh: 40 };
  const may = { days: 2, completeDays: 1, metersWh: 240, devicesWh: 240, differenceWh: 0 };
  expect(months).toEqual({
    '2026-04': { ...april, differencePercent: 16.67 },
    '2026-05': { ...may, differencePercent: 0 },
  });
  expect(total).toMatchObject({ days: 4, completeDays: 2, differenceWh: 40 });
});

test('days of a site are in the zone of the workgroup, or in the requested zone', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    timezone: 'Asia/Tokyo',
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1) }] }],
  });
  await storeDays(at.shard, [{ day: '2026-05-01', device: 1, energyWh: 240 }]);
  await at.put(intervals(...readings('GRID-1', '2026-04-30T15:00Z', 1, Array(24).fill(10))));
  const url = `sites/roof/reconciliation?${range('2026-05-01', '2026-05-01')}`;
  const tokyo = await at.ask<Reconciliation>(url);
  expect([tokyo.timezone, tokyo.total.differenceWh, tokyo.total.completeDays]).toEqual(['Asia/Tokyo', 0, 1]);
  const utc = await at.ask<Reconciliation>(`${url}&timezone=Etc/UTC`);
  expect(utc.incompleteDays['2026-05-01']![0]).toEqual({
    meter: 'GRID-1',
    reason: 'readings cover 62.5 % of the day',
  });
});

test('a day with a register that fell, or without any device, is incomplete, and the reason is named', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    sites: [
      { name: 'roof', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1), from: '2026-05-02' }] },
    ],
  });
  await storeDays(at.shard, [{ day: '2026-05-02', device: 1, energyWh: 1, flags: 256 }]);
  await at.put({
    kind: 'meter_registers',
    rows: readings('GRID-1', '2026-05-01T00:00Z', 24, [100, 110, 20]).map((row) => ({
      ...row,
      end: row.start,
    })),
  });
  const answer = await at.ask<Reconciliation>(
    `sites/roof/reconciliation?${range('2026-05-01', '2026-05-02')}`,
  );
  expect(answer.incompleteDays).toEqual({
    '2026-05-01': [{ reason: 'no device is a member on this day' }],
    '2026-05-02': [
      { meter: 'GRID-1', reason: 'its register fell, so that nobody knows the energy' },
      { device: deviceId(1), reason: 'a source of the device has no energy' },
    ],
  });
  expect(answer.total).toEqual({
    days: 2,
    completeDays: 0,
    metersWh: 0,
    devicesWh: 0,
    differenceWh: 0,
    differencePercent: null,
  });
});

test('the variance of days, months cut by the range and in all counts days that are over and have both', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }, { code: 'GRID-2', sign: -1 }, { code: 'PV' }] }],
  });
  // It is noon on the 20th of November.
  expect(new Date(at.clock.now()).toISOString()).toContain('2026-11-20');
  await at.put(
    budgets(
      budget('GRID-1', '2026-10', 3_100),
      budget('GRID-1', '2026-11', 3_000),
      budget('GRID-2', '2026', 3_650),
    ),
  );
  await at.put(
    intervals(
      ...readings('GRID-1', '2026-10-30T00:00Z', 24, [120, 130, ...Array(18).fill(110)]),
      ...readings('GRID-2', '2026-10-30T00:00Z', 24, Array(22).fill(20)),
      ...readings('GRID-1', '2026-11-20T00:00Z', 12, [50]),
    ),
  );
  const answer = await at.ask<Variance>(`sites/roof/variance?${range('2026-10-30', '2026-11-30')}`);
  expect(answer).toMatchObject({
    site: 'roof',
    timezone: 'Etc/UTC',
    scenario: 'P50',
    scenarios: { 'GRID-1': ['P50'], 'GRID-2': ['P50'] },
    metersWithoutBudget: ['PV'],
  });
  // 100 - 10 a day of budget; the 19th has no reading of GRID-1, the 20th is not over.
  expect(answer.days['2026-10-31']).toEqual({
    actualWh: 110,
    budgetWh: 90,
    varianceWh: 20,
    variancePercent: 22.22,
    partial: false,
    scenarios: ['P50'],
  });
  expect(answer.days['2026-11-19']).toEqual({
    actualWh: null,
    budgetWh: 90,
    varianceWh: null,
    variancePercent: null,
    partial: false,
    scenarios: ['P50'],
  });
  expect(answer.days['2026-11-20']).toEqual({
    actualWh: 30,
    budgetWh: 90,
    varianceWh: null,
    variancePercent: null,
    partial: true,
    scenarios: ['P50'],
  });
  expect(answer.months).toEqual({
    '2026-10': {
      days: 2,
      elapsedDays: 2,
      comparedDays: 2,
      partialDays: 0,
      actualWh: 210,
      budgetWh: 180,
      varianceWh: 30,
      variancePercent: 16.67,
      budgetToDateWh: 180,
      budgetOfAllDaysWh: 180,
    },
    '2026-11': {
      days: 30,
      elapsedDays: 19,
      comparedDays: 18,
      partialDays: 0,
      actualWh: 1_620,
      budgetWh: 1_620,
      varianceWh: 0,
      variancePercent: 0,
      budgetToDateWh: 1_710,
      budgetOfAllDaysWh: 2_700,
    },
  });
  expect(answer.total).toMatchObject({ days: 32, comparedDays: 20, varianceWh: 30, variancePercent: 1.67 });
});

test('the variance uses for each meter the budget of budget-data, and names its scenario', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({
    sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }, { code: 'GRID-2' }] }],
  });
  await at.put(
    budgets(
      budget('GRID-1', '2026-05', 3_100, 'P50'),
      budget('GRID-1', '2026-05-02', 500, 'contract'),
      budget('GRID-2', '2026-05', 310, 'P90'),
    ),
  );
  await at.put(
    intervals(
      ...readings('GRID-1', '2026-05-01T00:00Z', 24, [120, 520]),
      ...readings('GRID-2', '2026-05-01T00:00Z', 24, [9, 9]),
    ),
  );
  const days = range('2026-05-01', '2026-05-02');
  const answer = await at.ask<Variance>(`sites/roof/variance?${days}`);
  const budgeted = await at.ask(`budget-data?${days}`);
  expect(budgeted).toEqual({
    '2026-05-01': { 'GRID-1': 100, 'GRID-2': 10 },
    '2026-05-02': { 'GRID-1': 500, 'GRID-2': 10 },
  });
  expect(answer).toMatchObject({
    scenario: null,
    scenarios: { 'GRID-1': ['P50', 'contract'], 'GRID-2': ['P90'] },
    metersWithoutBudget: [],
    total: { comparedDays: 2, actualWh: 658, budgetWh: 620 },
    days: {
      '2026-05-01': { budgetWh: 110, varianceWh: 19, scenarios: ['P50', 'P90'] },
      '2026-05-02': { budgetWh: 510, varianceWh: 19, scenarios: ['contract', 'P90'] },
    },
  });
  // Only the requested scenario counts. Meters without a budget of it are named.
  expect(await at.ask<Variance>(`sites/roof/variance?${days}&scenario=p90`)).toMatchObject({
    scenario: 'P90',
    scenarios: { 'GRID-2': ['P90'] },
    metersWithoutBudget: ['GRID-1'],
    total: { comparedDays: 2, actualWh: 18, budgetWh: 20 },
  });
});

test('the answer of a day changes when it is over', { tags: ['slow'] }, async () => {
  const at = await openMeters({ sites: [{ name: 'roof', meters: [{ code: 'GRID-1' }] }] });
  await at.put(budgets(budget('GRID-1', '2026-11-20', 100)));
  await at.put(intervals(...readings('GRID-1', '2026-11-20T00:00Z', 24, [90])));
  const path = `sites/roof/variance?${range('2026-11-20', '2026-11-20')}`;
  const get = (headers = {}) => at.get(`/api/v1/orgs/acme/${path}`, { headers });
  const first = await get();
  const headers = { 'If-None-Match': first.headers.get('etag')! };
  expect(((await first.json()) as Variance).total).toMatchObject({
    comparedDays: 0,
    varianceWh: null,
    variancePercent: null,
  });
  expect((await get(headers)).status).toBe(304);
  at.clock.set(at.clock.now() + DAY_MS);
  expect(((await (await get(headers)).json()) as Variance).total).toMatchObject({
    comparedDays: 1,
    varianceWh: -10,
    variancePercent: -10,
  });
  at.clock.set(at.clock.now() + DAY_MS);
  expect((await get({ 'If-None-Match': (await get()).headers.get('etag')! })).status).toBe(304);
});

test('an unknown site is a 404 that lists the sites with only members that the token may see', async () => {
  const at = await openMeters({
    deviceGroups: { roof: [deviceId(1)] },
    sites: [
      { name: 'roof', meters: [{ code: 'PV' }], devices: [{ id: deviceId(1) }] },
      { name: 'mixed', meters: [{ code: 'PV' }, { code: 'GRID-1' }], devices: [{ id: deviceId(1) }] },
      { name: 'foreign', meters: [{ code: 'PV' }], devices: [{ id: deviceId(2) }] },
      { name: 'Haus & Hof/2', devices: [{ id: deviceId(1) }] },
    ],
  });
  const days = range('2026-05-01', '2026-05-01');
  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  for (const route of ['reconciliation', 'variance']) {
    expect(await at.refusal(`sites/cellar/${route}?${days}`)).toMatchObject({
      status: 404,
      error: 'NotFound',
      parameter: 'site',
      message: 'site: there is no site "cellar"; the sites are roof, mixed, foreign, Haus & Hof/2',
    });
    for (const site of ['mixed', 'foreign'])
      expect((await at.refusal(`sites/${site}/${route}?${days}`, roof)).message).toBe(
        `site: there is no site "${site}"; the sites are roof, Haus & Hof/2`,
      );
    expect(await at.ask(`sites/roof/${route}?${days}`, roof)).toMatchObject({ site: 'roof' });
    expect(await at.refusal(`sites/${encodeURIComponent('Haus & Hof/2')}/${route}?${days}`)).toMatchObject({
      status: 400,
      parameter: 'site',
      message: expect.stringContaining('has no meters'),
    });
    expect(await at.refusal(`sites/roof/${route}?${range('2026-05-02', '2026-05-01')}`)).toMatchObject({
      status: 400,
      parameter: 'endDate',
    });
    expect(await at.refusal(`sites/roof/${route}?${days}&timezone=Mars`)).toMatchObject({
      status: 400,
      parameter: 'timezone',
    });
  }
});

test('a report of a site has at most 200,000 days of members', async () => {
  const meters = Array.from({ length: 200 }, (_, index) => ({ code: `M-${index}` }));
  const { ask, refusal } = await openMeters({ meters, sites: [{ name: 'roof', meters }] });
  // A thousand days.
  const path = 'sites/roof/variance?endDate=2026-11-20&startDate=2024-02-2';
  expect((await ask<Variance>(`${path}5`)).total.days).toBe(1_000);
  expect(await refusal(`${path}4`)).toMatchObject({
    status: 400,
    message: expect.stringContaining('1001 days of 200 meters and devices are more than 200000 values'),
  });
});
