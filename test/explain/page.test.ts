import { describe, expect, test } from 'vitest';
import { describeExplained } from '../../src/cli/explain/explain-view.ts';
import { configSchema } from '../../src/config/config.ts';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { type Explained, explainedSchema } from '../../src/explain/explained-schema.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { type CaseReading, DEVICE, landReadings, rollUpSite } from '../rollup/support.ts';
import { openTestShard } from '../warehouse/support.ts';
import { handSum } from './by-hand.ts';

const DAY = '2026-07-01';
const startMs = Date.parse(`${DAY}T00:00:00Z`);
const streams: EnergyStreamInput[] = [
  {
    table: 't',
    field: 'total',
    method: 'total_energy',
    unit: 'Wh',
    maxPower: '10 kW',
    jitter: '20 Wh',
    modulus: 1_000_000,
  },
  { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', maxPower: '10 kW' },
  { table: 't', field: 'power', method: 'power_curve', unit: 'W', maxGap: '1h' },
];

const reading = (source: string, hour: number, data: CaseReading['data']): CaseReading => ({
  event_time: new Date(startMs + hour * 3_600_000).toISOString(),
  source,
  data,
});
const series = (
  source: string,
  field: string,
  values: ReadonlyArray<[hour: number, value: number | string]>,
) => values.map(([hour, value]) => reading(source, hour, { [field]: value }));

async function explain(
  shard: Shard,
  { day = DAY, timezone = 'Etc/UTC', source }: { day?: string; timezone?: string; source?: string } = {},
  devices: object[] = [],
): Promise<{ told: Explained; page: string; all: string }> {
  const [workgroup] = configSchema.parse({ workgroups: [{ id: 'acme', timezone, devices }] }).workgroups;
  const connection = await shard.connect();
  try {
    const args = { device: DEVICE, day, ...(source && { source }) };
    const explained = await explainDay(connection, args, {
      workgroup: workgroup!,
      nowMs: Date.UTC(2030, 0, 1),
    });
    const told = explainedSchema.strict().parse(JSON.parse(JSON.stringify(explained)));
    return {
      told,
      page: describeExplained(told, { all: false }),
      all: describeExplained(told, { all: true }),
    };
  } finally {
    connection.closeSync();
  }
}

/** The lines of a section of the page, without the blanks that align them. */
function linesOf(page: string, title: string): string[] {
  const [, text = ''] = page.split(`\n${title}\n`);
  return text
    .split('\n\n')[0]!
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim().replace(/ {2,}/g, ' | '));
}

describe('a day on which everything happens', () => {
  const meter: Array<[number, number | string]> = [
    [0, 50_000],
    [1, 51_000],
    [2, 0],
    [3, 52_500],
    [4, 52_490],
    [5, 53_000],
    [6, 5_000],
    [7, 6_000],
    [8, 90_000],
    [9, 7_000],
    [10, 990_000],
    [11, 991_000],
    [11.5, 'broken'],
    [12, 996_000],
    [13, 1_000],
    [14, 2_000],
  ];

  async function open(): Promise<Shard> {
    const shard = await openTestShard();
    const panel: Array<[number, number]> = [
      [10, 0],
      [10.5, 400],
      [11, 400],
      [14, 400],
      [14.5, 0],
    ];
    const today: Array<[number, number]> = [
      [-1, 700],
      [0, 700],
      [5, 700],
      [6, 0],
      [12, 900],
      [24, 900],
    ];
    await landReadings(shard, [
      ...series('meter', 'total', meter),
      ...series('panel', 'power', panel),
      ...series('old', 'today', today),
    ]);
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    // Late: of the end of the day, the same again, and a value that is revised.
    await landReadings(
      shard,
      series('meter', 'total', [
        [1, 51_000],
        [14, 2_500],
        [24, 3_000],
      ]),
    );
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    return shard;
  }

  test('tells each event once, in the order of time, and every Wh can be worked out by hand', async () => {
    const { told, page } = await explain(await open());
    expect(linesOf(page, 'What happened')).toEqual([
      'glitch: low at 02:00:00 (0 Wh after 51,000 Wh) and no restart: left out',
      'jitter: fell by no more than its jitter between 03:00:00 and 04:00:00; the high-water mark was held',
      'reset: started again between 05:00:00 and 06:00:00 from 53,000 to 5,000 Wh: what it shows since then counts, 5,000 Wh',
      'spike: impossibly high at 08:00:00 (90,000 Wh after 6,000 Wh): left out',
      'rebase: jumped impossibly between 09:00:00 and 10:00:00 from 7,000 to 990,000 Wh and stayed: nothing is booked',
      'rollover: passed its modulus between 12:00:00 and 13:00:00 from 996,000 to 1,000 Wh: 5,000 Wh are booked',
    ]);
    expect(linesOf(page, 'Sum')).toEqual([
      '(53,000 - 50,000) + (7,000 - 0) + (996,000 - 990,000) + (3,000 + 4,000) = 23,000 Wh',
    ]);
    for (const one of told.sources)
      expect([one.source, handSum(one)]).toEqual([one.source, one.result!.energyWh]);
    const energies = told.sources.map(({ source, result }) => [source, result!.energyWh]);
    expect(energies).toEqual([
      ['meter', 23_000],
      ['old', 900],
      ['panel', 400],
    ]);
    expect(page).toContain('23,000 (meter) + 900 (old) + 400 (panel) = 24,300 Wh\n');
  });

  test('shows the readings of events and stretches, and which readings were not used and why', async () => {
    const { page } = await explain(await open(), { source: 'meter' });
    const at = (line: string) => line.split(' | ').slice(0, -1).join(' | ');
    const lines = linesOf(page, 'Readings');
    expect(lines.map(at)).toEqual(
      expect.arrayContaining([
        '02:00:00 | 0 | glitch',
        '04:00:00 | 52,490 | 52,500 | jitter',
        '05:00:00 | 53,000',
        '06:00:00 | 5,000',
        '08:00:00 | 90,000 | spike',
        '10:00:00 | 990,000',
        '11:30:00 | "broken" | rejected: not a number',
        '12:00:00 | 996,000',
        '01:00:00 | 51,000 | repeated',
        '14:00:00 | 2,000 | revised',
        '14:00:00 | 2,500',
      ]),
    );
  });

  test('lists the changes between versions with their causes', async () => {
    const { page } = await explain(await open(), { source: 'meter' });
    const versions = linesOf(page, 'Versions').map((line) =>
      line.replace(/(computed|landed) \S+ [\d:]+\d/, '$1 T'),
    );
    expect(versions).toEqual([
      '1 | 22,000 Wh, computed T: 15 readings in batch 1 from stream',
      'batch 1 from stream, landed T: 15 readings of 00:00:00 to 14:00:00',
      '2 | 23,000 Wh, computed T: energy 22,000 Wh -> 23,000 Wh; coverage 54.17 % -> 95.83 %: 3 readings in batch 2 from stream, after the day was over',
      'batch 2 from stream, landed T: 3 readings of 01:00:00 to 2026-07-02 00:00:00',
    ]);
  });

  test('shows power by the hour and unmeasured time, and with --all every part', async () => {
    const { page, all } = await explain(await open(), { source: 'panel' });
    expect(linesOf(page, 'Energy by the hour')).toEqual([
      'From | To | Wh',
      '00:00:00 | 10:00:00 | 0 | not measured',
      '10:00:00 | 11:00:00 | 300',
      '11:00:00 | 14:00:00 | 0 | not measured',
      '14:00:00 | 15:00:00 | 100 | 30 min of it measured',
      '15:00:00 | 2026-07-02 00:00:00 | 0 | not measured',
    ]);
    expect(linesOf(page, 'Coverage')).toEqual([
      'measurements cover 1 h 30 min of 24 h; not 00:00:00 to 10:00:00, 11:00:00 to 14:00:00, 14:30:00 to 2026-07-02 00:00:00',
    ]);
    expect(page).not.toContain('Area under the power');
    expect(linesOf(all, 'Area under the power, cut at quarters of an hour')).toContain(
      '10:15:00 | 10:30:00 | 200 | 400 | 75',
    );
    expect(linesOf(page, 'Flags')).toEqual([
      'gap: power was not integrated over a gap',
      'partial: measurements cover only part of the day',
    ]);
  });

  test('shows for a daily register the value that it carried over from the day before', async () => {
    const { page } = await explain(await open(), { source: 'old' });
    expect(linesOf(page, 'What happened')).toEqual([
      'carry over: showed the day before from 00:00:00 to 05:00:00: no energy',
      'reset: started again between 05:00:00 and 06:00:00 from 700 to 0 Wh: what it shows since then counts, 0 Wh',
    ]);
    expect(linesOf(page, 'Sum')).toEqual(['(700 - 700) + (900 - 0) = 900 Wh']);
  });
});

test('a day on which nothing happened is short', async () => {
  const shard = await openTestShard();
  const hours = Array.from({ length: 97 }, (_, index): [number, number] => [index / 4, 5_000 + 10 * index]);
  await landReadings(shard, series('roof', 'total', hours));
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const { page, all } = await explain(shard);
  expect(page.split('\n').length).toBeLessThan(45);
  expect(page).not.toMatch(/What happened|Flags|rounded/);
  expect(linesOf(page, 'Readings')).toEqual([
    'Time | Wh',
    '00:00:00 | 5,000',
    '00:15:00 | 5,010',
    '... | 93 more readings (--all shows them)',
    '23:45:00 | 5,950',
    '2026-07-02 00:00:00 | 5,960',
    expect.stringMatching(/^all landed \S+ \S+, batch 1$/),
  ]);
  expect(linesOf(all, 'Readings')).toHaveLength(99);
  expect(linesOf(page, 'Fields, in the order of the configuration').at(-1)).toBe(
    'without readings of this source: t.today; t.power',
  );
  for (const line of page.split('\n')) expect(line).toBe(line.trimEnd());
});

test.each(['0001-01-02', '1969-12-31', '2026-05-01', '2026-09-01'])(
  'a day far from all readings, %s, is answered at once',
  async (day) => {
    const shard = await openTestShard();
    await landReadings(
      shard,
      series('roof', 'total', [
        [0, 0],
        [24, 500],
      ]),
    );
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    const { told, page } = await explain(shard, { day });
    expect(told).toMatchObject({ outcome: 'no_readings', energyWh: null, sources: [] });
    expect(page.split('\n').at(-2)).toBe(
      day < DAY ? `the next day with energy is ${DAY}` : `the last day with energy before it is ${DAY}`,
    );
  },
);

test('sources that do not count for the device are listed last, with the command that shows them', async () => {
  const shard = await openTestShard();
  const values = (factor: number): Array<[number, number]> => [
    [0, 0],
    [24, factor * 1_000],
  ];
  await landReadings(shard, [
    ...series('cellar', 'total', values(1)),
    ...series('the roof', 'total', values(2)),
    ...series('total', 'total', values(4)),
  ]);
  const devices = [{ id: DEVICE, name: 'house', totalSource: 'total' }];
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const { told, page } = await explain(shard, {}, devices);
  expect(page).toMatch(
    /^house \(00000000-0000-4000-8000-000000000001\), 2026-07-01, Etc\/UTC, 24 h\n4,000 Wh\n/,
  );
  expect(page.match(/^Source .*?: \S+ Wh/gm)).toEqual([
    'Source total: 4,000 Wh',
    'Source cellar: 1,000 Wh',
    'Source the roof: 2,000 Wh',
  ]);
  expect(page.match(/--source .*/g)).toEqual([
    '--source cellar explains it',
    "--source 'the roof' explains it",
  ]);
  expect(told.sources).toHaveLength(3);
});

test('repeated hours of a clock change are distinguished', async () => {
  const shard = await openTestShard();
  const readings = Array.from({ length: 27 }, (_, index) => ({
    event_time: new Date(Date.parse('2026-10-24T21:30:00Z') + index * 3_600_000).toISOString(),
    source: 'roof',
    data: { total: 1_000 * index },
  }));
  await landReadings(shard, readings);
  await rollUpSite(shard, { timezone: 'Europe/Paris', streams });
  const { told, page, all } = await explain(shard, { day: '2026-10-25', timezone: 'Europe/Paris' });
  expect(told.energyWh).toBe(25_000);
  expect(page).toContain('Europe/Paris, 25 h\n25,000 Wh\n');
  const times = linesOf(all, 'Readings').map((line) => line.split(' | ')[0]);
  expect(times.slice(1, 6)).toEqual([
    '2026-10-24 23:30:00+02:00',
    '00:30:00+02:00',
    '01:30:00+02:00',
    '02:30:00+02:00',
    '02:30:00+01:00',
  ]);
  expect(linesOf(page, 'Index where the day begins and ends (Wh)')[0]).toBe(
    '00:00:00+02:00 | 500 | interpolated | 0 + (1,000 - 0) x 1,800 s / 3,600 s',
  );
});

test.each([
  // Power brings 4000 Wh in 12 of the 24 silent hours, 2000 of them in the last four before midnight.
  ['all', 4_000, 2_000, '0 + (4,000 - 0) x 2,000 / 4,000: '],
  ['most', 5_000, 2_666.667, '0 + 2,000 + (5,000 - 4,000) x (43,200 s - 14,400 s) / (86,400 s - 43,200 s): '],
  [
    'less than three quarters',
    10_000,
    5_833.333,
    '0 + (10,000 - 0) x (43,200 s - 14,400 s + 43,200 s x 2,000 / 4,000) / 86,400 s: ',
  ],
])(
  'a shape that follows power, which explains %s of the growth, can be worked out by hand',
  async (_, grownWh, midnightWh, formula) => {
    const shard = await openTestShard();
    await landReadings(shard, [
      ...series('roof', 'total', [
        [12, 0],
        [36, grownWh],
      ]),
      ...series('roof', 'power', [
        [20, 0],
        [21, 2_000],
        [22, 0],
        [30, 0],
        [31, 2_000],
        [32, 0],
      ]),
    ]);
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    const { told, page } = await explain(shard);
    expect(linesOf(page, 'Index where the day begins and ends (Wh)')[1]).toContain(formula);
    expect(told.sources[0]!.boundaries!.end.indexWh!).toBeCloseTo(midnightWh, 3);
    expect(told.energyWh).toBe(Math.round(midnightWh));
  },
);

test('impossible power and the contradicted method are shown with the limit', async () => {
  const shard = await openTestShard();
  const hours = Array.from({ length: 25 }, (_, hour) => hour);
  await landReadings(shard, [
    ...series(
      'meter',
      'total',
      hours.map((hour) => [hour, 5_000 + hour]),
    ),
    ...series(
      'meter',
      'power',
      hours.map((hour) => [hour, 1_000]),
    ),
    ...series('panel', 'power', [
      ...hours.map((hour): [number, number] => [hour, 400]),
      [12.5, 9e6],
      [12.6, -9e6],
    ]),
  ]);
  await rollUpSite(shard, {
    timezone: 'Etc/UTC',
    streams: streams.map((one) => (one.field === 'power' ? { ...one, maxPower: '20 kW' } : one)),
  });
  const meter = await explain(shard, { source: 'meter' });
  expect(meter.told.sources[0]?.flags).toEqual([
    {
      flag: 'contradicted',
      meaning: 'another method that covers the day measured something else, by more than a tenth',
      reason: 't.power (power_curve) says 24,000 Wh',
      spans: [],
    },
  ]);
  expect(meter.page).toContain('t.power (power_curve) says 24,000 Wh');
  const panel = await explain(shard, { source: 'panel' });
  expect(linesOf(panel.page, 'What happened')).toEqual([
    'spike: impossibly high from 12:30:00 to 12:36:00 (9,000,000 W after 400 W): left out',
  ]);
  expect(panel.told.sources[0]?.limits).toMatchObject({ maxPowerW: { value: 20_000, from: 'configured' } });
  expect(panel.told.sources[0]?.readings.filter(({ fate }) => fate === 'spike')).toHaveLength(2);
  expect([panel.told.sources[0]?.result?.energyWh, handSum(panel.told.sources[0]!)]).toEqual([9_600, 9_600]);
});
