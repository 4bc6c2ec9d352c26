import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, dayStart } from '../../src/lib/time.ts';
import { storeDays } from '../publish/publish-fixture.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { intervals, openMeters, readings, seriesOf, sum } from './meter-support.ts';

const range = (startDate: string, endDate: string, more = '') =>
  `startDate=${startDate}&endDate=${endDate}${more && `&${more}`}`;

describe('uploaded readings', () => {
  // Each test has its own month or its own meter.
  const meters = shared(openMeters);

  test('are in the days of the zone that is asked for, a key for each of them', async () => {
    const at = meters();
    // 22:00 to 02:00 UTC: midnight in Paris is at the first of them, in summer.
    await at.put(intervals(...readings('GRID-1', '2026-06-30T22:00Z', 1, [10, 20, 40, 80])));
    expect(await at.ask(`meter-data?${range('2026-06-30', '2026-07-02')}`)).toEqual({
      '2026-06-30': { 'GRID-1': 30 },
      '2026-07-01': { 'GRID-1': 120 },
      '2026-07-02': {},
    });
    expect(await at.ask(`meter-data?${range('2026-06-30', '2026-07-01', 'timezone=Europe/Paris')}`)).toEqual({
      '2026-06-30': {},
      '2026-07-01': { 'GRID-1': 150 },
    });
  });

  test('of the days with a change of the clock have 23 and 25 hours', { tags: ['slow'] }, async () => {
    const at = meters();
    const hours = (count: number) => Array.from({ length: count }, () => 100);
    await at.put(intervals(...readings('GRID-1', '2026-03-28T23:00Z', 1, hours(48))));
    await at.put(intervals(...readings('GRID-1', '2026-10-24T22:00Z', 1, hours(48))));
    const paris = 'timezone=Europe/Paris';
    expect(
      seriesOf(await at.ask(`meter-data?${range('2026-03-29', '2026-03-31', paris)}`), 'GRID-1'),
    ).toEqual([2_300, 2_400, 100]);
    expect(
      seriesOf(await at.ask(`meter-data?${range('2026-10-25', '2026-10-26', paris)}`), 'GRID-1'),
    ).toEqual([2_500, 2_300]);
  });

  test('of an hour that midnight of a zone with half hours cuts are split, and said to be estimated', async () => {
    const at = meters();
    // Midnight in Lord Howe is 13:30 UTC, in summer (the first days of April) 13:00.
    await at.put(intervals(...readings('GRID-1', '2026-04-04T13:00Z', 1, [7, ...Array(23).fill(10), 5, 6])));
    const answer = await at.ask<Record<string, Record<string, unknown>>>(
      `meter-data/details?${range('2026-04-04', '2026-04-06', 'timezone=Australia/Lord_Howe')}`,
    );
    const value = (energyWh: number, coverage: number, flags: string[]) => ({
      energyWh,
      quality: 'measured',
      flags,
      coverage,
      revision: 1,
      source: { kind: 'uploaded' },
    });
    // The clock is put back on the 5th: 24.5 hours, to 13:30 UTC. Of the 5 Wh from 13:00 on, round(2.5) = 3.
    expect(answer).toEqual({
      '2026-04-04': {},
      '2026-04-05': { 'GRID-1': value(7 + 230 + 3, 1, ['estimated']) },
      '2026-04-06': { 'GRID-1': value(2 + 6, 0.0625, ['estimated', 'partial']) },
    });
  });

  test('of a whole month become days that add up to it', async () => {
    const at = meters();
    await at.put(intervals(...readings('GRID-1', '2028-02-01T00:00Z', 29 * 24, [1_000])));
    const days = seriesOf(await at.ask(`meter-data?${range('2028-02-01', '2028-02-29')}`), 'GRID-1');
    // round(1000 k / 29) - round(1000 (k - 1) / 29)
    expect(days.slice(0, 4)).toEqual([34, 35, 34, 35]);
    expect(sum(days)).toBe(1_000);
    // A shorter range gives the same values for its days.
    expect(seriesOf(await at.ask(`meter-data?${range('2028-02-03', '2028-02-04')}`), 'GRID-1')).toEqual([
      34, 35,
    ]);
  });

  test('with fractions of a Wh are rounded on the running sum of the month', async () => {
    const at = meters();
    await at.put(intervals(...readings('GRID-1', '2026-05-30T00:00Z', 24, [0.3, 0.3, 0.3, 0.3, 0.3])));
    // May: 0.3 -> 0, 0.6 -> 1; June: 0.3 -> 0, 0.6 -> 1, 0.9 -> 1.
    expect(seriesOf(await at.ask(`meter-data?${range('2026-05-30', '2026-06-03')}`), 'GRID-1')).toEqual([
      0, 1, 0, 1, 0,
    ]);
    expect(seriesOf(await at.ask(`meter-data?${range('2026-06-02', '2026-06-02')}`), 'GRID-1')).toEqual([1]);
  });

  test('have no day that the zone left out', async () => {
    const at = meters();
    await at.put(intervals(...readings('GRID-1', '2011-12-29T22:00Z', 24, [24])));
    const question = range('2011-12-28', '2011-12-31', 'timezone=Pacific/Apia');
    expect(await at.ask(`meter-data?${question}`)).toEqual({
      '2011-12-28': {},
      '2011-12-29': { 'GRID-1': 12 },
      '2011-12-30': {},
      '2011-12-31': { 'GRID-1': 12 },
    });
  });

  test('have the highest revision and the worst quality of their day', async () => {
    const at = meters();
    const values = readings('GRID-1', '2026-09-11T00:00Z', 12, [1, 2, 3, 4, 5, 6]);
    await at.put(intervals(...values));
    const qualities = [
      'measured',
      'substituted',
      'substituted',
      'estimated',
      'estimated',
      'measured',
    ] as const;
    await at.put(intervals(...values.map((row, index) => ({ ...row, quality: qualities[index]! }))));
    const day = (energyWh: number, quality: string) => ({
      'GRID-1': { energyWh, revision: 2, quality, flags: ['estimated'] },
    });
    expect(await at.ask(`meter-data/details?${range('2026-09-11', '2026-09-13')}`)).toMatchObject({
      '2026-09-11': day(3, 'substituted'),
      '2026-09-12': day(7, 'substituted'),
      '2026-09-13': day(11, 'estimated'),
    });
  });

  test('that were replaced no longer count', { tags: ['slow'] }, async () => {
    const at = meters();
    await at.put(intervals(...readings('GRID-1', '2026-09-01T00:00Z', 24, [100])));
    const question = `meter-data?${range('2026-09-01', '2026-09-01')}`;
    expect(await at.ask(question)).toEqual({ '2026-09-01': { 'GRID-1': 100 } });
    const response = await at.get(`/api/v1/orgs/acme/${question}`);
    const etag = response.headers.get('etag')!;
    const again = (headers: Record<string, string>) => at.get(`/api/v1/orgs/acme/${question}`, { headers });
    expect((await again({ 'If-None-Match': etag })).status).toBe(304);
    await at.put(intervals(...readings('GRID-1', '2026-09-01T00:00Z', 24, [90])));
    expect(await at.ask(question)).toEqual({ '2026-09-01': { 'GRID-1': 90 } });
    expect((await again({ 'If-None-Match': etag })).status).toBe(200);
  });

  test('of a register that fell are null in the details, and no energy', async () => {
    const at = meters();
    const [noon, midnight] = readings('GRID-2', '2026-08-03T12:00Z', 12, [30, 5]);
    const values = readings('GRID-2', '2026-08-01T00:00Z', 24, [100, 150, 20]);
    const rows = [...values, { ...noon!, quality: 'substituted' as const }, midnight!];
    await at.put({ kind: 'meter_registers', rows: rows.map((row) => ({ ...row, end: row.start })) });
    expect(await at.ask(`meter-data?${range('2026-08-01', '2026-08-02')}`)).toEqual({
      '2026-08-01': { 'GRID-2': 50 },
      '2026-08-02': {},
    });
    expect(await at.ask(`meter-data/details?${range('2026-08-02', '2026-08-03')}`)).toMatchObject({
      '2026-08-02': { 'GRID-2': { energyWh: null, quality: 'fault', flags: ['partial'], coverage: 0 } },
      '2026-08-03': { 'GRID-2': { energyWh: 10, quality: 'fault', flags: ['estimated', 'partial'] } },
    });
  });
});

const streams = [
  { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  { table: 't', field: 'power', method: 'power_curve', unit: 'W' },
  { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', jitter: '5 Wh' },
] as const;

describe('meters that are read from devices', () => {
  test('have the energy of daily-energy, of a source or of the device as a whole', {
    tags: ['slow'],
  }, async () => {
    const at = await openMeters({
      meters: [
        { code: 'ALL', device: deviceId(1) },
        { code: 'ONE', device: deviceId(1), source: 'b' },
      ],
    });
    await storeDays(at.shard, [
      { day: '2026-11-18', device: 1, source: 'a', energyWh: 5 },
      { day: '2026-11-18', device: 1, source: 'b', energyWh: 7, version: 3 },
      { day: '2026-11-18', device: 2, source: 'b', energyWh: 100 },
    ]);
    await at.publish();
    const days = range('2026-11-18', '2026-11-19');
    expect(await at.ask(`meter-data?${days}`)).toEqual({
      '2026-11-18': { ALL: 12, ONE: 7 },
      '2026-11-19': {},
    });
    expect(await at.ask(`meter-data/details?${days}&meterCodes=ONE`)).toEqual({
      '2026-11-18': {
        ONE: {
          energyWh: 7,
          quality: 'measured',
          flags: [],
          coverage: 1,
          revision: 3,
          source: { kind: 'derived', device: deviceId(1), source: 'b' },
        },
      },
      '2026-11-19': {},
    });
  });

  test('add up to the same in every zone, over days of different methods', { tags: ['slow'] }, async () => {
    const timezone = 'Europe/Paris';
    const at = await openMeters({ timezone });
    const fromMs = Date.parse('2026-03-27T09:00:00Z');
    // The register is silent on the first day, so that this is read from power, and the others from the
    // register.
    const shed = (event_time: string, today: number) => ({
      device: deviceId(1),
      source: 'shed',
      event_time,
      data: { today },
    });
    await landReadings(at.shard, [
      ...Array.from({ length: 192 }, (_, index) => ({
        device: deviceId(1),
        source: 'pv',
        event_time: new Date(fromMs + index * 1_800_000).toISOString(),
        data: {
          power: 300 + (index % 7),
          ...(index >= 40 && { total: 1_000 + Math.round(index * 166.65) }),
        },
      })),
      // The last reading is at midnight. Its energy is in an interval without measured time.
      shed('2026-03-30T20:00:00Z', 1_000),
      shed('2026-03-30T21:50:00Z', 1_500),
      shed('2026-03-30T22:00:00Z', 3),
    ]);
    await rollUpSite(at.shard, { timezone, streams });
    await at.publish();
    const methods = await at.analyse('SELECT DISTINCT method FROM daily_energy');
    expect(methods.flat().sort()).toEqual(['daily_energy', 'power_curve', 'total_energy']);
    const days = range('2026-03-25', '2026-04-02');
    const own = sum(Object.values(await at.report(days)).map((day) => day[deviceId(1)]));
    expect(own).toBeGreaterThan(20_000);
    const answers = [];
    for (const zone of [
      timezone,
      'Etc/UTC',
      'Australia/Lord_Howe',
      'America/Santiago',
      'Asia/Kathmandu',
      'Pacific/Kiritimati',
    ]) {
      const answer = await at.ask(`meter-data?${days}&timezone=${zone}`);
      answers.push(JSON.stringify(answer));
      expect([zone, sum(seriesOf(answer, 'PV'))]).toEqual([zone, own]);
    }
    expect(new Set(answers).size).toBe(answers.length);
    // The same intervals, however the zone is called.
    expect(await at.ask(`meter-data?${days}&timezone=Europe/Brussels`)).toEqual(
      await at.ask(`meter-data?${days}&timezone=${timezone}`),
    );
    const details = await at.ask<Record<string, Record<string, { flags: string[]; coverage: number }>>>(
      `meter-data/details?${days}&timezone=Asia/Kathmandu`,
    );
    const first = details['2026-03-27']!.PV!;
    expect(first.flags).toContain('partial');
    expect(first.coverage).toBeCloseTo((24 - 14.75) / 24, 2);
  });
});

const MONTHS = rounds(12, 20);

test('the days of a month add up to it in every zone, for readings that begin and end at any time', {
  tags: ['slow'],
}, async () => {
  const zone = fc.constantFrom(
    'Etc/UTC',
    'Europe/Paris',
    'Australia/Lord_Howe',
    'America/Santiago',
    'Asia/Kathmandu',
    'America/St_Johns',
  );
  const reading = fc.record({
    quarters: fc.integer({ min: 1, max: 600 }),
    wh: fc.integer({ min: 0, max: 90_000 }),
  });
  const month = fc.record({
    zone,
    month: fc.constantFrom('2026-04', '2026-09', '2026-10', '2028-02'),
    drawn: fc.array(reading, { minLength: 1, maxLength: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(month, { minLength: MONTHS, maxLength: MONTHS }), async (months) => {
      const at = await openMeters({ meters: months.map((_, index) => ({ code: `M${index}` })) });
      // One behind the other, from the first instant of the month on and not beyond its last.
      const cases = months.map(({ drawn, ...one }, index) => {
        const first = `${one.month}-01`;
        const next = `${addDays(first, 31).slice(0, 8)}01`;
        const lastMs = dayStart(next, one.zone);
        let startMs = dayStart(first, one.zone);
        const rows = drawn.flatMap(({ quarters, wh }) => {
          const [row] = readings(`M${index}`, new Date(startMs).toISOString(), 1, [wh]);
          startMs = Math.min(startMs + quarters * 900_000, lastMs);
          return row!.start < startMs ? [{ ...row!, end: startMs }] : [];
        });
        return { ...one, code: `M${index}`, first, last: addDays(next, -1), rows };
      });
      await at.put(intervals(...cases.flatMap(({ rows }) => rows)));
      for (const { zone, code, first, last, rows } of cases) {
        const answer = await at.ask(
          `meter-data?${range(first, last, `timezone=${zone}&meterCodes=${code}`)}`,
        );
        const uploaded = sum(rows.map(({ energyWh }) => energyWh));
        expect([zone, first, sum(seriesOf(answer, code))]).toEqual([zone, first, uploaded]);
      }
    }),
    { numRuns: rounds(1, 4), endOnFailure: !isSoak },
  );
});

test('invalid parameters are refused with the reason and the valid values', async () => {
  const at = await openMeters({ deviceGroups: { roof: [deviceId(1)] } });
  const days = range('2026-05-01', '2026-05-02');
  const questions: Array<[query: string, parameter: string, ...words: string[]]> = [
    ['endDate=2026-05-02', 'startDate', 'must be given'],
    ['startDate=2026-05-02', 'endDate', 'must be given'],
    [range('2026-05-02', '2026-05-01'), 'endDate', '2026-05-01', '2026-05-02'],
    [range('2026-02-30', '2026-05-01'), 'startDate', '2026-02-30'],
    [range('2021-01-01', '2026-01-02'), 'startDate', '1828', '1827'],
    [`${days}&timezone=Europe/Pariss`, 'timezone', 'Europe/Pariss', 'IANA'],
    [`${days}&timezone=%2B02:00`, 'timezone', '+02:00'],
    [`${days}&timezone=`, 'timezone'],
    [`${days}&meterCodes=GRID-1,GRID-9`, 'meterCodes', 'GRID-9', 'GRID-1, GRID-2, PV'],
    [`${days}&meterCodes=`, 'meterCodes'],
  ];
  for (const path of ['meter-data', 'meter-data/details', 'budget-data', 'budget-data/details'])
    for (const [query, parameter, ...words] of questions) {
      const refusal = await at.refusal(`${path}?${query}`);
      expect([path, query, refusal]).toEqual([
        path,
        query,
        expect.objectContaining({ error: 'InvalidRequest', status: 400, parameter }),
      ]);
      for (const word of words) expect(refusal.message).toContain(word);
    }
});

test('a token of device groups sees only the meters of its devices', { tags: ['slow'] }, async () => {
  const at = await openMeters({ deviceGroups: { roof: [deviceId(1)], none: [] } });
  await storeDays(at.shard, [{ day: '2026-05-01', device: 1, energyWh: 5 }]);
  await at.put(intervals(...readings('GRID-1', '2026-05-01T00:00Z', 24, [100])));
  const days = range('2026-05-01', '2026-05-01');
  const roof = await at.issue({ permissions: ['search:read'], deviceGroups: ['roof'] });
  expect(await at.ask(`meter-data?${days}`)).toEqual({ '2026-05-01': { 'GRID-1': 100, PV: 5 } });
  expect(await at.ask(`meter-data?${days}`, roof)).toEqual({ '2026-05-01': { PV: 5 } });
  const refusal = await at.refusal(`meter-data?${days}&meterCodes=GRID-1`, roof);
  expect([refusal.status, refusal.message]).toEqual([
    400,
    'meterCodes: no meter has the code "GRID-1"; the meters are PV',
  ]);
  const none = await at.issue({ permissions: ['search:read'], deviceGroups: ['none'] });
  expect(await at.ask(`meter-data?${days}`, none)).toEqual({ '2026-05-01': {} });
  const writer = await at.issue({ permissions: ['data:write'] });
  expect((await at.refusal(`meter-data?${days}`, writer)).status).toBe(403);
});

test('nothing published yet is days without energy', async () => {
  const at = await openMeters();
  const days = range('2026-05-01', '2026-05-02');
  for (const path of ['meter-data', 'meter-data/details', 'budget-data', 'budget-data/details'])
    expect(await at.ask(`${path}?${days}&timezone=Asia/Tokyo`)).toEqual({
      '2026-05-01': {},
      '2026-05-02': {},
    });
});

test('an answer with details has at most a million days of meters', { tags: ['slow'] }, async () => {
  const meters = Array.from({ length: 1_000 }, (_, index) => ({ code: `M-${index}` }));
  const { ask, refusal } = await openMeters({ meters });
  // A thousand days.
  const path = 'meter-data/details?endDate=2026-11-20&startDate=2024-02-2';
  expect(Object.keys(await ask(`${path}5`))).toHaveLength(1_000);
  expect(await refusal(`${path}4`)).toMatchObject({
    status: 400,
    message: expect.stringContaining('up to 1001000 days of meters, but it can have at most 1000000'),
  });
});
