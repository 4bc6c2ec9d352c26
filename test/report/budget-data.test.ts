import { expect, test } from 'vitest';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { budget, budgets, openMeters, seriesOf, sum } from './meter-support.ts';

const range = (startDate: string, endDate: string, more = '') =>
  `startDate=${startDate}&endDate=${endDate}${more && `&${more}`}`;

test('a year is spread over its days, leap days too, and they add up to it', { tags: ['slow'] }, async () => {
  const at = await openMeters();
  await at.put(budgets(budget('PV', '2028', 1_000), budget('PV', '2027', 1_000)));
  const leap = seriesOf(await at.ask(`budget-data?${range('2028-01-01', '2028-12-31')}`), 'PV');
  expect(leap).toHaveLength(366);
  expect(sum(leap)).toBe(1_000);
  // round(1000 k / 366) - round(1000 (k - 1) / 366): 2.73, 5.46, 8.20, 10.93
  expect(leap.slice(0, 4)).toEqual([3, 2, 3, 3]);
  expect(sum(seriesOf(await at.ask(`budget-data?${range('2027-01-01', '2027-12-31')}`), 'PV'))).toBe(1_000);
});

test('budgets are by calendar day in every zone, and a part of a month is its share of the month', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters();
  await at.put(budgets(budget('PV', '2026-05', 100)));
  // round(100 k / 31): 3, 6, 10, 13 ... 81 (25), 84 (26)
  const expected = { '2026-05-03': { PV: 4 }, '2026-05-04': { PV: 3 } };
  for (const zone of ['Etc/UTC', 'Pacific/Kiritimati', 'America/Santiago'])
    expect(await at.ask(`budget-data?${range('2026-05-03', '2026-05-04', `timezone=${zone}`)}`)).toEqual(
      expected,
    );
});

test('a day counts before its month, a month before its year; the rest of the longer period stays as it is', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters();
  // The longest comes last: it is not the newest that counts.
  for (const one of [
    budget('PV', '2026-05-30/2026-06-02', 4),
    budget('PV', '2026-05-02', 7),
    budget('PV', '2026-05', 6_200),
    budget('PV', '2026', 36_500),
  ]) {
    at.clock.set(at.clock.now() + 1_000);
    await at.put(budgets(one));
  }
  expect(seriesOf(await at.ask(`budget-data?${range('2026-04-30', '2026-05-03')}`), 'PV')).toEqual([
    100, 200, 7, 200,
  ]);
  expect(seriesOf(await at.ask(`budget-data?${range('2026-05-29', '2026-06-03')}`), 'PV')).toEqual([
    200, 1, 1, 1, 1, 100,
  ]);
  expect(await at.ask(`budget-data/details?${range('2026-05-02', '2026-05-03')}`)).toEqual({
    '2026-05-02': {
      PV: {
        energyWh: 7,
        scenario: 'P50',
        periodStart: '2026-05-02',
        periodEnd: '2026-05-02',
        periodWh: 7,
        flags: [],
        revision: 1,
        uploadedAt: new Date(at.clock.now() - 2_000).toISOString(),
      },
    },
    '2026-05-03': {
      PV: expect.objectContaining({
        periodStart: '2026-05-01',
        periodEnd: '2026-05-31',
        periodWh: 6_200,
        flags: ['estimated'],
      }),
    },
  });
});

test('without a scenario contract counts, else P50, P90, reforecast, else the first name', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters();
  const question = `budget-data?${range('2026-05-01', '2026-05-01')}`;
  const value = async (more = '') => (await at.ask(question + more))['2026-05-01']!['GRID-1'];
  const ranked = ['owner', 'board', 'reforecast', 'P90', 'P50', 'contract'];
  for (const [index, scenario] of ranked.entries()) {
    await at.put(budgets(budget('GRID-1', '2026-05-01', index + 1, scenario)));
    expect([scenario, await value()]).toEqual([scenario, index + 1]);
  }
  expect(await value('&scenario=P90')).toBe(4);
  expect(await value('&scenario=p90')).toBe(4);
  const unknown = await at.refusal(`${question}&scenario=P75`);
  expect([unknown.status, unknown.parameter]).toEqual([400, 'scenario']);
  expect(unknown.message).toBe(
    'scenario: no budget of these meters has the scenario "P75"; the scenarios are P50, P90, board, contract, owner, reforecast',
  );
});

/**
 * PV and ROOF are devices 1 and 2. Only PV has a contract, from the 2nd on; GRID-1 has budgets that are
 * rarely chosen.
 */
async function openPlant() {
  const at = await openMeters({
    meters: [{ code: 'PV', device: deviceId(1) }, { code: 'ROOF', device: deviceId(2) }, { code: 'GRID-1' }],
    deviceGroups: { one: [deviceId(1)], two: [deviceId(2)] },
  });
  await at.put(
    budgets(
      budget('PV', '2026-05', 31_000, 'P50'),
      budget('PV', '2026-05-02/2026-05-31', 60_000, 'contract'),
      budget('ROOF', '2026-05', 3_100, 'P50'),
      budget('GRID-1', '2026-05', 310, 'board'),
      budget('GRID-1', '2026-05', 620, 'agreed'),
    ),
  );
  return at;
}

const plant = shared(openPlant);

test('each meter has the budget of the first scenario that it has on the day, and none is left out', async () => {
  const at = plant();
  const question = `budget-data?${range('2026-05-01', '2026-05-02')}`;
  expect(await at.ask(question)).toEqual({
    '2026-05-01': { PV: 1_000, ROOF: 100, 'GRID-1': 20 },
    '2026-05-02': { PV: 2_000, ROOF: 100, 'GRID-1': 20 },
  });
  // The other days of the request change nothing.
  expect(await at.ask(`budget-data?${range('2026-05-02', '2026-05-02')}`)).toEqual({
    '2026-05-02': { PV: 2_000, ROOF: 100, 'GRID-1': 20 },
  });
  const details = await at.ask<Record<string, Record<string, { scenario: string }>>>(
    question.replace('?', '/details?'),
  );
  const scenarios = Object.values(details).map((day) =>
    Object.entries(day).map(([meter, { scenario }]) => `${meter} ${scenario}`),
  );
  expect(scenarios).toEqual([
    ['GRID-1 agreed', 'PV P50', 'ROOF P50'],
    ['GRID-1 agreed', 'PV contract', 'ROOF P50'],
  ]);
  expect(await at.ask(`${question}&scenario=contract`)).toEqual({
    '2026-05-01': {},
    '2026-05-02': { PV: 2_000 },
  });
});

test('the budget of a meter does not depend on other meters of the token or the request', async () => {
  const at = plant();
  const question = `budget-data?${range('2026-05-01', '2026-05-02')}`;
  const everything = await at.ask(question);
  const groups = { PV: ['one'], ROOF: ['two'], 'PV,ROOF': ['one', 'two'] };
  for (const [codes, deviceGroups] of Object.entries(groups)) {
    const token = await at.issue({ permissions: ['search:read'], deviceGroups });
    const own = Object.fromEntries(
      Object.entries(everything).map(([day, values]) => [
        day,
        Object.fromEntries(codes.split(',').map((code) => [code, values[code]!])),
      ]),
    );
    expect([codes, await at.ask(question, token)]).toEqual([codes, own]);
    expect([codes, await at.ask(`${question}&meterCodes=${codes}`)]).toEqual([codes, own]);
  }
});

test('a scenario without any budget is refused with the same text for every token', async () => {
  const at = plant();
  const two = await at.issue({ permissions: ['search:read'], deviceGroups: ['two'] });
  const question = `budget-data?${range('2026-05-01', '2026-05-02')}&meterCodes=ROOF&scenario=contract`;
  const refusal = 'scenario: no budget of these meters has the scenario "contract"; the scenarios are P50';
  expect((await at.refusal(question)).message).toBe(refusal);
  expect((await at.refusal(question, two)).message).toBe(refusal);
  for (const Accept of ['text/csv', 'application/x-ndjson'])
    expect([Accept, (await at.get(`/api/v1/orgs/acme/${question}`, { headers: { Accept } })).status]).toEqual(
      [Accept, 400],
    );
});

test('the latest revision counts, and changes the ETag', { tags: ['slow'] }, async () => {
  const at = await openMeters();
  const url = `/api/v1/orgs/acme/budget-data?${range('2026-05-01', '2026-05-01')}`;
  await at.put(budgets(budget('PV', '2026-05-01', 5)));
  const etag = (await at.get(url)).headers.get('etag')!;
  expect((await at.get(url, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  await at.put(budgets(budget('PV', '2026-05-01', 6)));
  const next = await at.get(url, { headers: { 'If-None-Match': etag } });
  expect(await next.json()).toEqual({ '2026-05-01': { PV: 6 } });
});

test('a token of device groups sees budgets of the meters of its devices, and scenarios of no other', {
  tags: ['slow'],
}, async () => {
  const at = await openMeters({ deviceGroups: { roof: [deviceId(1)] } });
  await at.put(budgets(budget('PV', '2026-05-01', 5), budget('GRID-1', '2026-05-01', 6, 'secret')));
  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  const question = `budget-data?${range('2026-05-01', '2026-05-01')}`;
  expect(await at.ask(question, roof)).toEqual({ '2026-05-01': { PV: 5 } });
  expect((await at.refusal(`${question}&scenario=secret`, roof)).message).toBe(
    'scenario: no budget of these meters has the scenario "secret"; the scenarios are P50',
  );
});
