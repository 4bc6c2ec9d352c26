import { expect, test } from 'vitest';
import { type CaseReading, DEVICE, landReadings } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { sampled } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { everyQuarter, everySixHours, growingOf, OTHER, problemsOf, total } from './problems-fixture.ts';

interface Case {
  energyStreams: Array<Record<string, unknown>>;
  readings: CaseReading[];
  /** The problems of its streams, as if the workgroup had no others. */
  expected: Record<string, unknown>;
}

const cases: Case[] = [];

/** The problems of one workgroup that has the streams and readings of all cases. */
const problemsOfAll = shared(() =>
  problemsOf(
    { energyStreams: cases.flatMap(({ energyStreams }) => energyStreams) },
    cases.flatMap(({ readings }) => readings),
  ),
);

/**
 * Tests the problems of streams. All cases are in one workgroup, because a warehouse for each would take most
 * of the time. A case has devices and tables that no other case has, so the other cases do not change its
 * problems.
 */
function testStreams(name: string, ofCase: (own: { device: string; table: string }) => Case): void {
  const index = cases.length;
  const own = ofCase({ device: deviceId(index), table: `table${index}` });
  const first = cases.reduce((count, { energyStreams }) => count + energyStreams.length, 0);
  cases.push(own);
  test(name, () => {
    const problems = Object.entries(problemsOfAll()).flatMap(([path, message]) => {
      const [, position, setting] = /^energyStreams\.(\d+)\.(.*)$/.exec(path)!;
      const index = Number(position) - first;
      return own.energyStreams[index] ? [[`energyStreams.${index}.${setting}`, message]] : [];
    });
    expect(Object.fromEntries(problems)).toEqual(own.expected);
  });
}

testStreams(
  'a working stream has no problem, and neither has a stream that an earlier one always covers',
  (own) => ({
    energyStreams: [
      { ...total, table: own.table },
      { table: own.table, field: 'total', method: 'daily_energy' },
    ],
    readings: growingOf(own),
    expected: {},
  }),
);

test('there are no problems before the first message', async () => {
  const devices = [{ id: DEVICE, sources: ['roof'] }];
  expect(await problemsOf({ energyStreams: [total], devices, totalSource: 'all' }, [])).toEqual({});
});

test('tables and fields without messages are named, with the most similar ones that have messages', {
  tags: ['slow'],
}, async () => {
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

for (const [what, settings, data, path, message] of [
  [
    'an unknown unit',
    { unitField: 'unit' },
    { total: 5, unit: 'KWH' },
    'unitField',
    () => /\(unknown_unit\): unit contains "KWH".*set unit, which is now Wh/,
  ],
  [
    'text',
    {},
    { total: 'five' },
    'field',
    (table) => new RegExp(`all 3 readings of ${table}.total are rejected \\(not_a_number\\): .*"five"`),
  ],
  ['less than nothing', {}, { total: -5 }, 'field', () => /\(negative\): .* write register: net/],
] as Array<[string, object, CaseReading['data'], string, (table: string) => RegExp]>)
  testStreams(`a stream says why if each of its readings is rejected: ${what}`, (own) => ({
    energyStreams: [{ ...total, table: own.table, ...settings }],
    readings: everySixHours(3, () => data, own),
    expected: { [`energyStreams.0.${path}`]: expect.stringMatching(message(own.table)) },
  }));

testStreams('a field that has no value yet is no problem', (own) => ({
  energyStreams: [{ ...total, table: own.table }],
  readings: everySixHours(3, () => ({ total: null, state: 'run' }), own),
  expected: {},
}));

testStreams('a device is reported if all its readings are rejected, although other devices work', (own) => ({
  energyStreams: [{ ...total, table: own.table }],
  readings: [
    ...growingOf(own),
    // Most are texts, so the example is a text, although "-1" is less than "five".
    ...everySixHours(3, (index) => ({ total: index === 0 ? -1 : 'five' }), {
      ...own,
      device: OTHER,
      source: 'roof',
    }),
  ],
  expected: {
    'energyStreams.0.field': expect.stringMatching(
      new RegExp(
        `all 3 readings of device ${OTHER}, source roof are rejected \\(not_a_number\\), such as "five"`,
      ),
    ),
  },
}));

for (const [what, device] of sampled(
  [
    ['another device', OTHER],
    ['the same device', undefined],
  ] as const,
  2,
))
  testStreams(`readings of two tables with one name of a field are distinguished: ${what}`, (own) => {
    const grid = `${own.table}grid`;
    return {
      energyStreams: [
        { ...total, table: own.table },
        { ...total, table: grid },
      ],
      readings: [
        ...growingOf(own),
        ...everySixHours(1, () => ({ total: -1 }), { device: device ?? own.device, table: grid }),
      ],
      expected: {
        'energyStreams.1.field': expect.stringContaining(`the only reading of ${grid}.total is rejected`),
      },
    };
  });

// report/booked-as.test.ts has booked sources.
testStreams('a source that a field is booked as is one source of each device', (own) => ({
  energyStreams: [{ ...total, table: own.table, as: 'import' }],
  readings: [
    ...growingOf(own),
    ...everySixHours(1, () => ({ total: 'broken' }), { ...own, store_time: '2024-06-02T00:00:00Z' }),
    ...['a', 'b'].flatMap((source) => growingOf({ ...own, device: OTHER, source })),
  ],
  expected: {
    'energyStreams.0.as': `device ${OTHER} sends "total" for the sources "a" and "b", and all become the source "import": remove as, or choose a field that only one of them has`,
  },
}));

for (const [what, other] of Object.entries({ 'the same': '', another: 'grid' }))
  testStreams(`a source that is booked may only be named in another table: in ${what}`, (own) => {
    const table = own.table + other;
    const named = { ...own, table, source: 'import' };
    const clash = `^messages of table "${table}" also name a source "import", for example of device ${own.device}, whose "today" energyStreams.\\d+ reads: each day of the source would use only one of them; choose another name$`;
    return {
      energyStreams: [
        { ...total, table: own.table, as: 'import' },
        { ...total, table, field: 'today' },
      ],
      readings: [...growingOf(own), ...everySixHours(3, (index) => ({ today: index }), named)],
      expected: other ? {} : { 'energyStreams.0.as': expect.stringMatching(clash) },
    };
  });

testStreams('a register that shows more than its modulus cannot have that size', (own) => ({
  energyStreams: [{ ...total, table: own.table, modulus: 1_500 }],
  readings: growingOf(own),
  expected: {
    'energyStreams.0.modulus': expect.stringContaining('has shown 2000 Wh, and modulus 1500 Wh is 1500 Wh'),
  },
}));

testStreams('a register that stands still while power flows is reported as a wrong register', (own) => ({
  energyStreams: [
    { ...total, table: own.table, field: 'other' },
    { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d' },
  ],
  readings: everySixHours(6, () => ({ other: 42, power: 500 }), own),
  expected: {
    'energyStreams.0.field': expect.stringContaining(
      'has not grown for a week, while its power gives 15000 Wh',
    ),
  },
}));

for (const [what, count, power] of [
  ['for less than a day', 4, 500],
  ['while little power flows', 6, 20],
] as const)
  testStreams(`a register that stands still ${what} is no problem`, (own) => ({
    energyStreams: [
      { ...total, table: own.table, field: 'other' },
      { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d' },
    ],
    readings: everySixHours(count, () => ({ other: 42, power }), own),
    expected: {},
  }));

for (const [what, count, isBeyond] of [
  ['in three quarters of an hour', 40, (index: number) => index % 10 === 5 && index < 30],
  ['in less than a twentieth of the time', 120, (index: number) => index % 24 === 5],
] as const)
  testStreams(`readings beyond the configured power ${what} are no problem`, (own) => ({
    energyStreams: [
      { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '20 kW' },
    ],
    readings: everyQuarter(count, (index) => ({ power: isBeyond(index) ? 21_000 : 500 }), own),
    expected: {},
  }));

testStreams('readings that are often beyond the configured power are reported with the limit', (own) => ({
  energyStreams: [
    { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '20 kW' },
  ],
  readings: everyQuarter(40, (index) => ({ power: index % 8 === 7 ? 21_000 : 500 }), own),
  expected: {
    'energyStreams.0.maxPower': expect.stringMatching(
      /^in 5 of 39 quarter hours of the last week readings of device \S+, source default need more than 20000 W and are not counted/,
    ),
  },
}));

testStreams(
  'a register that continues at a thousandth of its value is reported as a change of unit',
  (own) => ({
    energyStreams: [{ ...total, table: own.table }],
    readings: everySixHours(6, (index) => ({ total: index < 3 ? 5e6 + 900 * index : 5_003 + index }), own),
    expected: {
      'energyStreams.0.unit': expect.stringContaining(
        'went from 5001800 to 5006 Wh at 2024-06-01T18:00:00.000Z, a thousandth of its previous value',
      ),
    },
  }),
);

testStreams(
  'a register that continues at a thousandth of less than 100 Wh has not changed its unit',
  (own) => ({
    energyStreams: [{ ...total, table: own.table }],
    readings: everySixHours(
      6,
      (index) => ({ total: index < 3 ? 95_000 + index : 95.002 + index / 1_000 }),
      own,
    ),
    expected: {},
  }),
);

testStreams('a register that is left out since it shows ten times as much has another unit', (own) => ({
  energyStreams: [{ ...total, table: own.table, maxPower: '1 kW', jitter: '1 Wh' }],
  readings: everySixHours(6, (index) => ({ total: (index < 3 ? 1 : 10) * (5e6 + 900 * index) }), own),
  expected: {
    'energyStreams.0.unit': expect.stringContaining(
      'went from 5001800 to 50027000 Wh at 2024-06-01T18:00:00.000Z, ten times its previous value',
    ),
  },
}));

testStreams('a register that comes back from a tenth of its value has not changed its unit', (own) => ({
  energyStreams: [{ ...total, table: own.table, jitter: '1 Wh' }],
  readings: everySixHours(6, (index) => ({ total: (index === 3 ? 0.1 : 1) * (5e6 + 900 * index) }), own),
  expected: {},
}));

testStreams(
  'methods that contradict each other for days are reported, with the command that explains them',
  (own) => ({
    energyStreams: [
      { ...total, table: own.table },
      { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '10 kW' },
    ],
    readings: everySixHours(9, (index) => ({ total: 5_000 + index, power: 400 }), own),
    expected: {
      'energyStreams.0.field': expect.stringMatching(
        /^on 2 of the last seven days another method differs .* see wattline explain \S+ 2024-06-02 --source default,/,
      ),
    },
  }),
);

testStreams('methods that contradict each other for one day are no problem', (own) => ({
  energyStreams: [
    { ...total, table: own.table },
    { table: own.table, field: 'power', method: 'power_curve', maxGap: '1d', maxPower: '10 kW' },
  ],
  readings: everySixHours(4, (index) => ({ total: 5_000 + index, power: 400 }), own),
  expected: {},
}));
