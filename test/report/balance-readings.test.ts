import { expect, test } from 'vitest';
import type { CaseReading } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { sampled } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { byDay, daily, openReadings, read, register, steady } from './balance-of-readings.ts';
import type { Balances } from './balance-support.ts';

const [roof, meter] = [deviceId(1), deviceId(2)];

const sites: Array<{ name: string; readings: CaseReading[] }> = [];

/** One workgroup with all sites, because a lake for each would take most of the time. */
const workgroupOfSites = shared(() =>
  openReadings(
    [register, daily, byDay],
    sites.flatMap(({ readings }) => readings),
    {
      sites: sites.map(({ name, readings }) => ({
        name,
        devices: [...new Set(readings.map(({ device }) => device))].map((id) => ({ id })),
      })),
    },
  ),
);

/**
 * A site with these readings. Its devices belong to no other site.
 * @returns asks for its balance of a day
 */
function siteWith(readings: CaseReading[]) {
  const name = `site${sites.length}`;
  sites.push({ name, readings });
  return async (day: string, more = '') =>
    (await workgroupOfSites().get<Balances>(`sites/${name}/balance?startDate=${day}&endDate=${day}${more}`))
      .answer;
}

const asleepAtNight = siteWith([
  // Asleep from 18:00 on until 06:00, and from zero again.
  ...read(deviceId(11), 'pv', 'today', { '2026-06-01T06:00:00Z': 0, '2026-06-01T18:00:00Z': 900 }),
  ...read(deviceId(11), 'pv', 'today', {
    '06:00': 10,
    '06:15': 10,
    '12:00': 500,
    '12:15': 600,
    '12:30': 650,
    '18:00': 650,
  }),
  ...read(deviceId(11), 'pv', 'today', { '2026-06-03T06:00:00Z': 5, '2026-06-03T18:00:00Z': 500 }),
  ...steady(deviceId(12), 'import', () => 10, 5_000),
  ...steady(deviceId(12), 'export', () => 0, 700),
]);

test('a register that shows nothing by night lies between two readings, and is known', async () => {
  const { '2026-06-02': told } = await asleepAtNight('2026-06-02');
  expect(told).toMatchObject({
    productionWh: 650,
    gridImportWh: 960,
    consumptionWh: 1_610,
    coverage: 1,
    missing: [],
  });
});

const fromSix = (source: string) => steady(deviceId(21), source, () => 10, 50_000_000).slice(24);
const replacedAtNight = siteWith([
  ...read(deviceId(21), 'import', 'total', {
    '2026-06-01T22:45:00Z': 5_000,
    '2026-06-01T23:00:00Z': 5_000,
  }),
  ...fromSix('import'),
  ...fromSix('export'),
]);

test('the night when a register is replaced lies between two readings, unless it was never read before', async () => {
  const { '2026-06-02': told } = await replacedAtNight('2026-06-02');
  expect(told).toMatchObject({ gridImportWh: 720, gridExportWh: null, missing: ['grid_export'] });
});

const begunOnTheWay = siteWith([
  ...steady(deviceId(31), 'import', () => 10),
  ...read(deviceId(31), 'export', 'total', {
    '10:07': 100,
    '10:30': 120,
    '10:45': 140,
    '11:00': 140,
    '11:10': 150,
  }),
]);

test('a measurement that begins or ends on the way leaves its intervals unknown', async () => {
  const intervals = await begunOnTheWay('2026-06-02', '&resolution=interval');
  const missing = (time: string) => intervals[`2026-06-02T${time}:00Z`]!.missing;
  expect(['10:00', '10:15', '10:45', '11:00'].map(missing)).toEqual([
    ['grid_export'],
    [],
    [],
    ['grid_export'],
  ]);
  expect((await begunOnTheWay('2026-06-02'))['2026-06-02']).toMatchObject({
    coverage: 0.0313,
    gridExportWh: null,
    gridImportWh: 960,
  });
});

const wholeDays = siteWith([
  ...read(deviceId(41), 'pv', 'day', { '00:00': 20_000 }),
  ...read(deviceId(41), 'load', 'day', { '00:00': 12_000 }),
]);

test('values of whole days have no shape, so netted energy is unknown but has bounds', async () => {
  expect((await wholeDays('2026-06-02'))['2026-06-02']).toMatchObject({
    productionWh: 20_000,
    consumptionWh: 12_000,
    gridNetWh: -8_000,
    gridImportWh: null,
    gridExportWh: null,
    selfConsumptionWh: null,
    selfConsumptionMaxWh: 12_000,
    autarkyMax: 1,
    residualWh: 0,
    flags: ['netted', 'shape_unknown'],
  });
});

/** A load, and production that is silent from midnight until 05:00, and at rest from then on. */
const silentUntilFive = (device: string, wh: number) => [
  ...steady(device, 'load', () => 100),
  ...steady(device, 'pv', (index) => (index === 19 ? wh : 0)).filter(
    (_, index) => index === 0 || index >= 20,
  ),
];
const [few, many] = [deviceId(51), deviceId(52)];
const silentForHours = siteWith([...silentUntilFive(few, 19), ...silentUntilFive(many, 21)]);

test('a register has no shape during hours without readings, unless at most 20 Wh flowed then', async () => {
  expect((await silentForHours('2026-06-02', `&device=${few}`))['2026-06-02']).toMatchObject({
    productionWh: 19,
    gridImportWh: 9_581,
    flags: ['estimated', 'netted'],
  });
  expect((await silentForHours('2026-06-02', `&device=${many}`))['2026-06-02']).toMatchObject({
    productionWh: 21,
    gridNetWh: 9_579,
    gridImportWh: null,
    flags: ['estimated', 'netted', 'shape_unknown'],
  });
});

test('a net register is import when it rises and export when it falls, also for its device', {
  tags: ['slow'],
}, async () => {
  const net = steady(meter, 'net', (index) => (index < 40 ? 50 : index < 60 ? -100 : 0), 10_000);
  const at = await openReadings(
    [{ ...register, register: 'net' }],
    [...net, ...steady(roof, 'pv', (index) => (index >= 40 && index < 60 ? 150 : 0))],
    {
      devices: [{ id: meter, name: 'meter' }],
      meters: [
        { code: 'M', device: meter },
        { code: 'N', device: meter, source: 'net' },
      ],
    },
  );
  expect((await at.ask('2026-06-02'))['2026-06-02']).toMatchObject({
    gridImportWh: 2_000,
    gridExportWh: 2_000,
    gridNetWh: 0,
    productionWh: 3_000,
    consumptionWh: 3_000,
    flags: ['netted'],
  });
  const range = 'startDate=2026-06-02&endDate=2026-06-02';
  const plain = await at.get<Record<string, Record<string, number>>>(`daily-energy?${range}`);
  expect(plain.answer['2026-06-02']).toEqual({ [roof]: 3_000, [meter]: 2_000 });
  expect(plain.headers.get('Wattline-Flags')).toBe('mixed=1');
  const bySource = await at.get<Record<string, Record<string, number>>>(
    `daily-energy?${range}&groupBy=source`,
  );
  expect(bySource.answer['2026-06-02']![`${meter}.net`]).toBe(0);
  expect(bySource.headers.get('Wattline-Flags')).toBeNull();
  const profile = await at.get<Record<string, { energyWh: Record<string, number[]> }>>(
    `interval-energy?${range}`,
  );
  expect(profile.answer['2026-06-02']!.energyWh[meter]!.reduce((sum, wh) => sum + wh, 0)).toBe(2_000);
  expect(
    await at.analyse(
      `SELECT energy_wh, array_to_string(flags, ' ') FROM device_daily_energy WHERE device = '${meter}' AND day = '2026-06-02'`,
    ),
  ).toEqual([[2_000n, 'mixed']]);
  for (const zone of ['', '&timezone=Asia/Kolkata']) {
    const { answer } = await at.get<Record<string, Record<string, number>>>(
      `meter-data?startDate=2026-06-01&endDate=2026-06-03${zone}`,
    );
    const sum = (code: string) => Object.values(answer).reduce((total, day) => total + (day[code] ?? 0), 0);
    expect([sum('M'), sum('N')]).toEqual([2_000, 0]);
  }
});

test('a device that counts the export of its net registers has only their falls', {
  tags: ['slow'],
}, async () => {
  const [before, day] = ['2026-06-01', '2026-06-02'];
  const falling = (device: string, source: string, fallWh: number) =>
    steady(device, source, (index) => (index < 40 ? 50 : -fallWh), 10_000).slice(0, 61);
  const readings = [
    ...read(meter, 'net', 'total', { [`${before}T23:30:00Z`]: 10_030, [`${before}T23:45:00Z`]: 10_010 }),
    ...falling(meter, 'net', 100),
    ...falling(meter, 'net2', 1),
    ...falling(roof, 'net', 10),
  ];
  const at = await openReadings([{ ...register, register: 'net' }], readings, {
    devices: [meter, roof].map((id) => ({ id, energyRole: 'grid_export' })),
  });
  const { answer } = await at.get<Record<string, { energyWh: Record<string, Array<number | null>> }>>(
    `interval-energy?startDate=${day}&endDate=${day}`,
  );
  const profile = answer[day]!.energyWh[meter]!;
  expect([39, 40, 59, 60].map((index) => profile[index])).toEqual([0, 101, 101, null]);
  const expected = { [before]: { [meter]: 30 }, [day]: { [meter]: 2_020, [roof]: 200 } };
  expect((await at.get(`daily-energy?startDate=${before}&endDate=${day}`)).answer).toEqual(expected);
  const lake = await at.analyse(
    `SELECT json_group_object(day, devices)::VARCHAR FROM (
       SELECT day::VARCHAR AS day, json_group_object(device, energy_wh) AS devices FROM device_daily_energy GROUP BY day
     )`,
  );
  expect(JSON.parse(String(lake[0]![0]))).toEqual(expected);
});

/** Production and import are known until 12:00, export until 11:30. */
const untilNoon = siteWith([
  ...steady(deviceId(62), 'import', () => 10).slice(0, 49),
  ...steady(deviceId(62), 'export', () => 4).slice(0, 47),
  ...steady(deviceId(61), 'pv', () => 20).slice(0, 49),
]);

// It is the last test of the workgroup of sites, because it sets the clock.
test('a day that is not over is answered up to now, and its newest hour waits for late data', {
  tags: ['slow'],
}, async () => {
  const { clock } = workgroupOfSites();
  const intervalsAt = async (time: string) => {
    clock.set(Date.parse(`2026-06-02T${time}:00Z`));
    const { '2026-06-02': told } = await untilNoon('2026-06-02');
    return [told?.intervals, told?.productionWh, told?.coverage];
  };
  // 46 intervals are known by all sources at first. Readings for 11:30 and 11:45 can still come.
  const told: Array<[time: string, intervals?: number, productionWh?: number, coverage?: number]> = [
    ['12:44', 46, 920, 1],
    ['12:05', 46, 920, 1],
    ['12:45', 47, 940, 0.9787],
    ['13:00', 48, 960, 0.9583],
    ['06:05', 24, 480, 1],
    ['00:05'],
  ];
  for (const [time, ...wanted] of sampled(told, 2))
    expect([time, ...(await intervalsAt(time))]).toEqual([time, wanted[0], wanted[1], wanted[2]]);
  // The sources of a day are listed even if some of its intervals are not known.
  clock.set(Date.parse('2026-06-02T12:45:00Z'));
  const { '2026-06-02': incomplete } = await untilNoon('2026-06-02');
  expect(incomplete?.parts.map(({ source }) => source)).toEqual(['pv', 'export', 'import']);
});
