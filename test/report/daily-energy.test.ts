import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import { addSeries, rows, storeDays, type TestDay, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { rounds } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openReport } from './report-fixture.ts';

const path = (query: string) => `/api/v1/orgs/${WORKGROUP}/daily-energy?${query}`;

/** A workgroup that has published nothing. */
const unpublished = shared(() => openReport());

test('a day by device and by source', async () => {
  const at = await openReport();
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 2, source: 'inverter', energyWh: 5 },
    { day: '2026-11-18', device: 1, source: 'pv', energyWh: 10 },
    { day: '2026-11-18', device: 1, source: 'battery', energyWh: -3 },
    { day: '2026-11-20', device: 1, source: 'pv', energyWh: 7 },
  ]);
  await at.publish();
  const byDevice = await at.get(path('startDate=2026-11-18&endDate=2026-11-20'));
  expect(await byDevice.text()).toBe(
    `{"2026-11-18":{"${deviceId(1)}":7,"${deviceId(2)}":5},"2026-11-19":{},"2026-11-20":{"${deviceId(1)}":7}}`,
  );
  expect(byDevice.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(byDevice.headers.get('cache-control')).toBe('private, no-cache');
  const bySource = await at.get(path('startDate=2026-11-18&endDate=2026-11-18&groupBy=source'));
  expect(await bySource.text()).toBe(
    `{"2026-11-18":{"${deviceId(1)}.battery":-3,"${deviceId(1)}.pv":10,"${deviceId(2)}.inverter":5}}`,
  );
});

test('the series with most energy come first, and the others are one', { tags: ['slow'] }, async () => {
  const at = await openReport();
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, source: 'pv', energyWh: 10 },
    { day: '2026-11-18', device: 2, source: 'pv', energyWh: -20 },
    { day: '2026-11-18', device: 3, source: 'pv', energyWh: 3 },
    { day: '2026-11-18', device: 4, source: 'a"b', energyWh: 2 },
    { day: '2026-12-01', device: 2, source: 'pv', energyWh: -40 },
    { day: '2026-12-01', device: 4, source: 'a"b', energyWh: 1 },
  ]);
  await at.publish();
  const textOf = async (query: string) =>
    (await at.get(path(`startDate=2026-11-18&endDate=2026-12-01&${query}`))).text();
  const [one, two, three, four] = [1, 2, 3, 4].map(deviceId);
  const found = await textOf('top=2');
  expect(found).toContain(`"2026-11-18":{"${two}":-20,"${one}":10,"others":5},"2026-11-19":{}`);
  expect(found).toContain(`"2026-12-01":{"${two}":-40,"others":1}}`);
  expect(await textOf('top=3&resolution=month&groupBy=source')).toBe(
    `{"2026-11":{"${two}.pv":-20,"${one}.pv":10,"${three}.pv":3,"others":2},"2026-12":{"${two}.pv":-40,"others":1}}`,
  );
  expect(await textOf('resolution=month')).toContain(`"2026-12":{"${two}":-40,"${four}":1}`);
  expect(await textOf('resolution=month&groupBy=source')).toContain(
    `"2026-12":{"${two}.pv":-40,"${four}.a\\"b":1}`,
  );
  const all = JSON.parse(await textOf('groupBy=source')) as Record<string, Record<string, number>>;
  expect(all['2026-12-01']).toEqual({ [`${two}.pv`]: -40, [`${four}.a"b`]: 1 });
  expect(JSON.parse(await textOf('groupBy=source&top=100'))).toEqual(all);
  for (const wrong of ['top=0', 'top=101', 'top=x', 'top=2&format=csv']) {
    const { status, body } = await at.get(path(wrong)).then(async (answer) => ({
      status: answer.status,
      body: (await answer.json()) as { parameter?: string },
    }));
    expect([wrong, status, body.parameter]).toEqual([wrong, 400, 'top']);
  }
});

test('both dates default to yesterday in the zone of the workgroup', async () => {
  // Noon in UTC is the day after in Kiritimati.
  const at = await openReport({ timezone: 'Pacific/Kiritimati' });
  expect(Object.keys(await at.report(''))).toEqual(['2026-11-20']);
  expect(Object.keys(await at.report('startDate=2026-11-19'))).toEqual(['2026-11-19', '2026-11-20']);
  expect(Object.keys(await at.report('endDate=2026-11-21'))).toEqual(['2026-11-20', '2026-11-21']);
});

test('nothing published yet is an empty report, and so are days and devices without energy', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  expect(await at.report('startDate=2026-11-18&endDate=2026-11-19')).toEqual({
    '2026-11-18': {},
    '2026-11-19': {},
  });
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 5 }]);
  await at.publish();
  expect(await at.report('startDate=2026-12-18&endDate=2026-12-18')).toEqual({ '2026-12-18': {} });
  expect(await at.report(`startDate=2026-12-18&endDate=2026-12-18&devices=${deviceId(1)}`)).toEqual({
    '2026-12-18': {},
  });
});

test('a range of five years is answered with a key for each day', async () => {
  const at = unpublished();
  const days = Object.keys(await at.report('startDate=2022-01-01&endDate=2027-01-01'));
  expect(days).toHaveLength(1827);
  expect(days.at(-1)).toBe('2027-01-01');
});

test('a range that starts today needs an end, because the default is yesterday', async () => {
  const at = unpublished();
  const response = await at.get(path('startDate=2099-01-01'));
  expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringMatching(
      /^endDate: is yesterday \(\d{4}-\d\d-\d\d\) unless it is given, which is before 2099-01-01$/,
    ),
  ]);
});

test('invalid parameters are refused by name', async () => {
  const at = unpublished();
  const questions: Array<[query: string, parameter: string]> = [
    ['startDate=2022-01-01&endDate=2027-01-02', 'startDate'],
    ['startDate=2026-11-20&endDate=2026-11-19', 'endDate'],
    ['startDate=2026-02-30', 'startDate'],
    ['startDate=20261120', 'startDate'],
    ['startDate=9999-12-31&endDate=9999-12-31', 'startDate'],
    ['startDate=0000-01-01&endDate=0000-01-01', 'startDate'],
    ['startDate=', 'startDate'],
    ['endDate=2026-11-20T00:00:00Z', 'endDate'],
    ['startDate=2026-11-01&startDate=2026-11-02', 'startDate'],
    ['groupBy=device', 'groupBy'],
    ['groupBy=', 'groupBy'],
    ['groupBy=source&groupBy=source', 'groupBy'],
    ['devices=inverter', 'devices'],
    ['devices=', 'devices'],
    [`devices=${deviceId(1)},`, 'devices'],
    [`devices=${deviceId(1)}&devices=1' OR 1=1 --`, 'devices'],
  ];
  const answers = [];
  for (const [query] of questions) {
    const response = await at.get(path(query));
    const { error, status, parameter, message } = (await response.json()) as Record<string, string>;
    answers.push([query, parameter, response.status, error, status]);
    expect(message).toMatch(/^\w+: \w/);
  }
  expect(answers).toEqual(
    questions.map(([query, parameter]) => [query, parameter, 400, 'InvalidRequest', 400]),
  );
});

test('a caller without permission gets no other error', async () => {
  const at = unpublished();
  const bad = path('startDate=nonsense');
  const status = async (token: string | undefined, target = bad) => {
    const response = await at.get(target, { token });
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  expect(await status(undefined)).toEqual([401, 'AuthenticationRequired']);
  expect(await status('nonsense')).toEqual([401, 'InvalidToken']);
  expect(await status(await at.issue({ permissions: ['data:write'] }))).toEqual([403, 'InsufficientScope']);
  expect(await status(at.token, '/api/v1/orgs/other/daily-energy')).toEqual([403, 'WorkgroupForbidden']);
  expect(await status(at.token, '/api/v1/orgs/..%2F..%2Fetc/daily-energy')).toEqual([
    403,
    'WorkgroupForbidden',
  ]);
});

test('a token of a device group sees only its devices', { tags: ['slow'] }, async () => {
  const at = await openReport({ deviceGroups: { roof: [deviceId(1), deviceId(3)], empty: [] } });
  await storeDays(
    at.shard,
    [1, 2, 3].map((device) => ({ day: '2026-11-18', device, energyWh: device })),
  );
  await at.publish();
  const query = 'startDate=2026-11-18&endDate=2026-11-18';
  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  expect(await at.report(query, roof)).toEqual({ '2026-11-18': { [deviceId(1)]: 1, [deviceId(3)]: 3 } });
  expect(await at.report(`${query}&devices=${deviceId(3)}`, roof)).toEqual({
    '2026-11-18': { [deviceId(3)]: 3 },
  });
  const refused = await at.get(
    `/api/v1/orgs/${WORKGROUP}/daily-energy?${query}&devices=${deviceId(3)},${deviceId(2)}`,
    { token: roof },
  );
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({ error: 'InvalidRequest', parameter: 'devices' }),
  ]);
  const empty = await at.issue({ permissions: ['search:read'], deviceGroups: ['empty'] });
  expect(await at.report(query, empty)).toEqual({ '2026-11-18': {} });
});

test('a device with a total source is that source, another one the sum of its sources', {
  tags: ['slow'],
}, async () => {
  const at = await openReport({ totalSource: 'total', devices: [{ id: deviceId(3), totalSource: 'meter' }] });
  const sources: Array<[number, string]> = [
    [1, 'total'],
    [1, 'phase'],
    [2, 'a'],
    [2, 'b'],
    [3, 'total'],
    [3, 'meter'],
  ];
  for (const [index, [device, source]] of sources.entries()) await addSeries(at.shard, index, device, source);
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, source: 'total', energyWh: 100 },
    { day: '2026-11-18', device: 1, source: 'phase', energyWh: 33 },
    { day: '2026-11-18', device: 2, source: 'a', energyWh: 1 },
    { day: '2026-11-18', device: 2, source: 'b', energyWh: 2 },
    { day: '2026-11-18', device: 3, source: 'total', energyWh: 7 },
    { day: '2026-11-18', device: 3, source: 'meter', energyWh: 8 },
    // If the total of a day is missing, it is not computed from parts.
    { day: '2026-11-19', device: 1, source: 'phase', energyWh: 33 },
  ]);
  await at.publish();
  expect(await at.report('startDate=2026-11-18&endDate=2026-11-19')).toEqual({
    '2026-11-18': { [deviceId(1)]: 100, [deviceId(2)]: 3, [deviceId(3)]: 8 },
    '2026-11-19': {},
  });
  expect(
    Object.keys((await at.report('startDate=2026-11-18&endDate=2026-11-18&groupBy=source'))['2026-11-18']!),
  ).toHaveLength(6);
});

test('sources of any spelling are keys of valid JSON', { tags: ['slow'] }, async () => {
  const at = await openReport();
  const sources = ['"quoted"', 'back\\slash', 'tab\tnewline\n\u0001', 'größe ✓ 🌞', 'a.b', "it's", ','];
  await storeDays(
    at.shard,
    sources.map((source, index) => ({ day: '2026-11-18', device: 1, source, energyWh: index })),
  );
  await at.publish();
  expect(await at.report('startDate=2026-11-18&endDate=2026-11-18&groupBy=source')).toEqual({
    '2026-11-18': Object.fromEntries(sources.map((source, index) => [`${deviceId(1)}.${source}`, index])),
  });
});

test('the report equals a plain sum over the warehouse, for any range, devices and grouping', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  const day = fc.integer({ min: 0, max: 100 }).map((offset) => addDays('2026-08-15', offset));
  const device = fc.integer({ min: 1, max: 6 });
  const days = fc.sample(
    fc.uniqueArray(
      fc.record({
        day,
        device,
        source: fc.constantFrom('pv', 'battery', 'grid'),
        energyWh: fc.integer({ min: -50_000, max: 50_000_000_000 }),
      }),
      { minLength: 300, maxLength: 300, selector: (row) => `${row.day} ${row.device} ${row.source}` },
    ),
    { numRuns: 1, seed: 20_261_120 },
  )[0] as TestDay[];
  await storeDays(at.shard, days);
  await at.publish();
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(day, day).map((range) => range.sort() as [string, string]),
      fc.option(fc.uniqueArray(device, { minLength: 1 })),
      fc.boolean(),
      async ([start, end], devices, bySource) => {
        const named = devices?.map(deviceId).join() ?? '';
        const report = await at.report(
          `startDate=${start}&endDate=${end}${devices ? `&devices=${named.toUpperCase()}` : ''}${bySource ? '&groupBy=source' : ''}`,
        );
        const plain = await at.shard.transaction((connection) =>
          rows(
            connection,
            `SELECT day::VARCHAR, device::VARCHAR || ${bySource ? "'.' || source" : "''"} AS series, sum(energy_wh)::DOUBLE FROM daily_energy
             WHERE day BETWEEN $start::DATE AND $end::DATE AND ($devices = '' OR contains($devices, device::VARCHAR))
             GROUP BY ALL ORDER BY ALL`,
            { start, end, devices: named },
          ),
        );
        expect(
          Object.entries(report).flatMap(([on, series]) =>
            Object.entries(series).map(([key, wh]) => [on, key, wh]),
          ),
        ).toEqual(plain);
        expect(Object.keys(report)[0]).toBe(start);
        expect(Object.keys(report).at(-1)).toBe(end);
      },
    ),
    { numRuns: rounds(15, 40) },
  );
});

test('the ETag changes when the data of the range does, and only then', { tags: ['slow'] }, async () => {
  const at = await openReport({ deviceGroups: { roof: [deviceId(1)] } });
  const november = path('startDate=2026-11-18&endDate=2026-11-19');
  const etagOf = async (target = november, token = at.token) =>
    (await at.get(target, { token })).headers.get('etag')!;
  const unpublished = await etagOf();
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 1 }]);
  await at.publish();
  const first = await etagOf();
  expect(first).not.toBe(unpublished);
  expect(await etagOf()).toBe(first);

  const same = await at.get(november, { headers: { 'If-None-Match': `"other", ${first}` } });
  expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', first]);
  expect((await at.get(november, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);

  // A new generation, but not of this month.
  await storeDays(at.shard, [{ day: '2026-10-18', device: 1, energyWh: 1 }]);
  await at.publish();
  expect((await at.head()).sequence).toBe(2);
  expect(await etagOf()).toBe(first);

  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 2 }]);
  await at.publish();
  const changed = await etagOf();
  expect(changed).not.toBe(first);
  expect((await at.get(november, { headers: { 'If-None-Match': first } })).status).toBe(200);

  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  const others = await Promise.all([
    etagOf(`${november}&groupBy=source`),
    etagOf(`${november}&devices=${deviceId(2)}`),
    etagOf(path('startDate=2026-11-18&endDate=2026-11-18')),
    etagOf(november, roof),
  ]);
  // The last one is of a token that sees only device 1.
  expect(new Set([changed, ...others]).size).toBe(5);
});
