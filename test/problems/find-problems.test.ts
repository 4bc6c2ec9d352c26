import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { findProblems } from '../../src/problems/find-problems.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { type CaseReading, DEVICE, landReadings } from '../rollup/rollup-fixture.ts';
import { isSoak, sampled } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const OTHER = DEVICE.replace(/1$/, '2');
const total = { table: 'solar', field: 'total', method: 'total_energy', maxPower: '10 kW' };

/** A reading every six hours since midnight of the first of June. */
function everySixHours(
  count: number,
  dataOf: (index: number) => CaseReading['data'],
  reading: Partial<CaseReading> = {},
): CaseReading[] {
  return Array.from({ length: count }, (_, index) => ({
    table: 'solar',
    ...reading,
    event_time: new Date(Date.UTC(2024, 5, 1) + index * 6 * 3_600_000).toISOString(),
    data: dataOf(index),
  }));
}

async function problemsOf(
  settings: Record<string, unknown>,
  readings: CaseReading[],
  shard?: Shard,
): Promise<Record<string, string>> {
  const opened = shard ?? (await openTestShard());
  const workgroup = workgroupSchema.parse({ id: 'acme', ...settings });
  if (readings.length > 0) await landReadings(opened, readings);
  await rollUp(opened, {
    workgroup,
    clock: { now: () => Date.UTC(2030, 0, 1) },
    closeAfterMs: 0,
    logger: silentLogger,
  });
  const connection = await opened.connect();
  try {
    const problems = await findProblems(connection, workgroup);
    return Object.fromEntries(problems.map(({ path, message }) => [path, message]));
  } finally {
    connection.closeSync();
  }
}

const growing = everySixHours(3, (index) => ({ total: 1_000 * index, state: 'run' }));

test('a working stream has no problem, and neither has a stream that an earlier one always covers', async () => {
  const energyStreams = [total, { table: 'solar', field: 'total', method: 'daily_energy' }];
  expect(await problemsOf({ energyStreams }, growing)).toEqual({});
});

test('there are no problems before the first message', async () => {
  const devices = [{ id: DEVICE, sources: ['roof'] }];
  expect(await problemsOf({ energyStreams: [total], devices, totalSource: 'all' }, [])).toEqual({});
});

test('tables and fields without messages are named, with the most similar ones that have messages', async () => {
  const shard = await openTestShard();
  const energyStreams = [
    total,
    { ...total, table: 'Solar' },
    { ...total, field: 'Total_Wh' },
    { ...total, field: 'stat' },
  ];
  const readings = everySixHours(3, (index) => ({
    total: index,
    today: index,
    total_wh: index,
    state: 'run',
  }));
  expect(await problemsOf({ energyStreams }, readings, shard)).toEqual({
    'energyStreams.1.table':
      'table "Solar" has never had a message; tables with messages are "solar": correct the name, or remove the stream',
    'energyStreams.2.field':
      'no message of table "solar" has a field "Total_Wh"; its fields are "total_wh", "total", "today" and "state": correct the name, or remove the stream',
    'energyStreams.3.field': expect.stringContaining('its fields are "state"'),
  });
  // As soon as a message has the field, there is no problem.
  await landReadings(
    shard,
    everySixHours(2, () => ({ Total_Wh: 5, stat: 1 })),
    'solar',
  );
  expect(Object.keys(await problemsOf({ energyStreams }, [], shard))).toEqual(['energyStreams.1.table']);
});

test.each([
  [
    'an unknown unit',
    { unitField: 'unit' },
    { total: 5, unit: 'KWH' },
    'unitField',
    /\(unknown_unit\): unit contains "KWH".*set unit, which is now Wh/,
  ],
  [
    'text',
    {},
    { total: 'five' },
    'field',
    /all 3 readings of solar.total are rejected \(not_a_number\): .*"five"/,
  ],
  ['less than nothing', {}, { total: -5 }, 'field', /\(negative\): .* write register: net/],
])(
  'a stream says why if each of its readings is rejected: %s',
  async (_what, settings, data, path, message) => {
    const readings = everySixHours(3, () => data);
    expect(await problemsOf({ energyStreams: [{ ...total, ...settings }] }, readings)).toEqual({
      [`energyStreams.0.${path}`]: expect.stringMatching(message),
    });
  },
);

test('a device is reported if all its readings are rejected, although other devices work', async () => {
  // Most are texts, so the example is a text, although "-1" is less than "five".
  const bad = everySixHours(3, (index) => ({ total: index === 0 ? -1 : 'five' }), {
    device: OTHER,
    source: 'roof',
  });
  expect(await problemsOf({ energyStreams: [total] }, [...growing, ...bad])).toEqual({
    'energyStreams.0.field': expect.stringMatching(
      new RegExp(
        `all 3 readings of device ${OTHER}, source roof are rejected \\(not_a_number\\), such as "five"`,
      ),
    ),
  });
});

test.each(
  sampled(
    [
      ['another device', OTHER],
      ['the same device', DEVICE],
    ] as const,
    2,
  ),
)('readings of two tables with one name of a field are distinguished: %s', async (_what, device) => {
  const bad = everySixHours(2, () => ({ total: -1 }), { device, table: 'grid' });
  expect(
    await problemsOf({ energyStreams: [total, { ...total, table: 'grid' }] }, [...growing, ...bad]),
  ).toEqual({
    'energyStreams.1.field': expect.stringContaining('all 2 readings of grid.total are rejected'),
  });
});

// report/booked-as.test.ts has booked sources.
test.runIf(isSoak)(
  'a source that a field is booked as is one source of each device, and no other field is that source',
  async () => {
    const energyStreams = [
      { ...total, as: 'import' },
      { ...total, field: 'out', as: 'export' },
    ];
    const both = (index: number) => ({ total: 1_000 * index, out: 500 * index });
    const rejected = everySixHours(1, () => ({ total: 'broken' }), { store_time: '2024-06-02T00:00:00Z' });
    expect(await problemsOf({ energyStreams }, [...everySixHours(3, both), ...rejected])).toEqual({});

    const named = (source: string) => everySixHours(3, both, { device: OTHER, source });
    expect(await problemsOf({ energyStreams }, [...named('a'), ...named('b')])).toEqual({
      'energyStreams.0.as': `device ${OTHER} sends "total" for the sources "a" and "b", and all become the source "import": remove as, or choose a field that only one of them has`,
      'energyStreams.1.as': expect.stringContaining('sends "out" for the sources "a" and "b"'),
    });

    const other = { ...total, field: 'today' };
    const today = everySixHours(3, (index) => ({ today: index }), { source: 'import' });
    expect(
      await problemsOf({ energyStreams: [...energyStreams, other] }, [...everySixHours(3, both), ...today]),
    ).toEqual({
      'energyStreams.0.as': `messages of table "solar" also name a source "import", for example of device ${DEVICE}, whose "today" energyStreams.2 reads: each day of the source would use only one of them; choose another name`,
    });
  },
);

test('a register that shows more than its modulus cannot have that size', async () => {
  const energyStreams = [{ ...total, modulus: 1_500 }];
  expect(await problemsOf({ energyStreams }, growing)).toEqual({
    'energyStreams.0.modulus': expect.stringContaining('has shown 2000 Wh, and modulus 1500 Wh is 1500 Wh'),
  });
});

test('a register that stands still while power flows is reported as a wrong register', async () => {
  const energyStreams = [
    { ...total, field: 'other' },
    { table: 'solar', field: 'power', method: 'power_curve', maxGap: '1d' },
  ];
  const readings = everySixHours(6, () => ({ other: 42, power: 500 }));
  expect(await problemsOf({ energyStreams }, readings)).toEqual({
    'energyStreams.0.field': expect.stringContaining(
      'has not grown for a week, while its power gives 15000 Wh',
    ),
  });
});

test('readings that are often beyond the configured power are reported with the limit', async () => {
  const energyStreams = [
    { table: 'solar', field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '20 kW' },
  ];
  const readings = everySixHours(40, (index) => ({ power: index % 8 === 7 ? 21_000 : 500 })).map(
    (reading, index) => ({
      ...reading,
      event_time: new Date(Date.UTC(2024, 5, 1) + index * 900_000).toISOString(),
    }),
  );
  expect(await problemsOf({ energyStreams }, readings)).toEqual({
    'energyStreams.0.maxPower': expect.stringMatching(
      /^in 5 of 39 quarter hours of the last week readings of device \S+, source default need more than 20000 W and are not counted/,
    ),
  });
});

test('a register that continues at a thousandth of its value is reported as a change of unit', async () => {
  const readings = everySixHours(6, (index) => ({ total: index < 3 ? 5e6 + 900 * index : 5_003 + index }));
  expect(await problemsOf({ energyStreams: [total] }, readings)).toEqual({
    'energyStreams.0.unit': expect.stringContaining(
      'went from 5001800 to 5006 Wh at 2024-06-01T18:00:00.000Z, a thousandth of its previous value',
    ),
  });
});

test('a register that is left out since it shows ten times as much has another unit', async () => {
  const energyStreams = [{ ...total, maxPower: '1 kW', jitter: '1 Wh' }];
  const readings = everySixHours(6, (index) => ({ total: (index < 3 ? 1 : 10) * (5e6 + 900 * index) }));
  expect(await problemsOf({ energyStreams }, readings)).toEqual({
    'energyStreams.0.unit': expect.stringContaining(
      'went from 5001800 to 50027000 Wh at 2024-06-01T18:00:00.000Z, ten times its previous value',
    ),
  });
});

test('a register that comes back from a tenth of its value has not changed its unit', async () => {
  const energyStreams = [{ ...total, jitter: '1 Wh' }];
  const readings = everySixHours(6, (index) => ({ total: (index === 3 ? 0.1 : 1) * (5e6 + 900 * index) }));
  expect(await problemsOf({ energyStreams }, readings)).toEqual({});
});

test('methods that contradict each other for days are reported, with the command that explains them', async () => {
  const energyStreams = [
    total,
    { table: 'solar', field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '10 kW' },
  ];
  const readings = everySixHours(9, (index) => ({ total: 5_000 + index, power: 400 }));
  expect(await problemsOf({ energyStreams }, readings)).toEqual({
    'energyStreams.0.field': expect.stringMatching(
      /^on 2 of the last seven days another method differs .* see wattline explain \S+ 2024-06-02 --source default,/,
    ),
  });
});

test('configured devices and sources without messages are reported', async () => {
  const readings = everySixHours(3, (index) => ({ total: index }), { source: 'roof' });
  const devices = [{ id: DEVICE, sources: ['Roof', 'roof'], totalSource: 'meter' }, { id: OTHER }];
  expect(await problemsOf({ energyStreams: [total], devices, totalSource: 'all' }, readings)).toEqual({
    'devices.0.sources': expect.stringContaining('"Roof" has never had energy; the device has "roof"'),
    'devices.0.totalSource': expect.stringContaining('"meter" has never had energy'),
    'devices.1.id': expect.stringContaining(`device ${OTHER} has never had energy`),
    totalSource: expect.stringContaining('source "all" has never had energy'),
  });
});

test('a role for a source without energy is reported, but not one for a pattern or another device', async () => {
  const roles = [
    { device: DEVICE, source: 'roof', role: 'production' },
    { device: 'garage', source: 'default', role: 'production' },
    { device: DEVICE, source: 'gr*', role: 'grid_import' },
    { device: OTHER, source: 'roof', role: 'production' },
    { source: 'nowhere', role: 'production' },
  ];
  const devices = [{ id: DEVICE, name: 'garage' }];
  expect(await problemsOf({ energyStreams: [total], devices, roles }, growing)).toEqual({
    'roles.0.source':
      'source "roof" has never had energy, so its production is unknown; the device has "default": correct the name, or remove it',
  });
});
