import { expect, test } from 'vitest';
import {
  intervals,
  other,
  own,
  series,
  stream,
  streams,
  type TableRows,
  warehouseTables,
} from '../warehouse/warehouse-tables.ts';

const found = warehouseTables();

/** A register and power of one source, with an interval of each. */
function still({
  method = 'total_energy',
  growth = 0,
  covered = 60,
  wh = 101,
  resolution = 'NULL' as string | number,
  source = 'a',
  start = 1,
}) {
  return {
    energy_stream: streams(stream(1, 4, { method }), stream(2, 5, { method: 'power_curve' })),
    series: series(`1, 1, '${own}', 'a', 0, 100, ${resolution}`, `2, 2, '${own}', '${source}', 0, 100, NULL`),
    interval_energy: intervals(
      // Before the newest time.
      '1, 0, 500, 0, 0, NULL',
      `1, ${start}, ${growth}, ${covered - 10}, 0, NULL`,
      `1, 2, 0, 10, 0, NULL`,
      `2, 1, ${wh}, 100, 0, NULL`,
    ),
  };
}
const stillLimits = {
  newest_ms: 100,
  covered_min_ms: 60,
  power_min_wh: 100,
  resolutions_min: 20,
  rows_max: 9,
};

for (const [what, isFound, more] of [
  ['has not grown while power flowed', true, {}],
  ['has grown', false, { growth: 1 }],
  ['is not a lifetime register', false, { method: 'daily_energy' }],
  ['is covered for a shorter time', false, { covered: 59 }],
  ['stands beside too little power', false, { wh: 100 }],
  ['stands beside power of another source', false, { source: 'b' }],
  ['can show the power in its resolution', true, { resolution: 5 }],
  ['cannot show the power in its resolution', false, { resolution: 5.05 }],
] as const)
  test(`a register stands still: ${isFound ? 'one' : 'none'} that ${what}`, async () => {
    const rows = await found(still(more), 'problems/find_still_registers', stillLimits);
    expect(rows).toEqual(isFound ? [[4, own, 'a', 101]] : []);
  });

test('registers of which one stands still are sorted, and only the first ones are read', async () => {
  const places = [
    [5, own, 'a'],
    [4, other, 'b'],
    [4, own, 'z'],
    [4, other, 'a'],
  ] as const;
  const registers = places.map(([position, device, source], index) => ({
    streams: stream(index, position, { method: 'total_energy' }),
    series: [
      `${index}, ${index}, '${device}', '${source}', 0, 100, NULL`,
      `${10 + index}, 10, '${device}', '${source}', 0, 100, NULL`,
    ],
    intervals: [`${index}, 1, 0, 60, 0, NULL`, `${10 + index}, 1, 101, 60, 0, NULL`],
  }));
  const tables = {
    energy_stream: streams(stream(10, 9, { method: 'power_curve' }), ...registers.map((one) => one.streams)),
    series: series(...registers.flatMap((one) => one.series)),
    interval_energy: intervals(...registers.flatMap((one) => one.intervals)),
  };
  const rows = await found(tables, 'problems/find_still_registers', { ...stillLimits, rows_max: 3 });
  expect(rows).toEqual([
    [4, own, 'z', 101],
    [4, other, 'a', 101],
    [4, other, 'b', 101],
  ]);
});

test('intervals beyond maxPower are counted in the newest time, if they are enough and a large enough share', async () => {
  const tables = {
    energy_stream: streams(
      stream(1, 4, { maxPower: 900 }),
      stream(2, 5, {}),
      stream(3, null, { maxPower: 900 }),
    ),
    series: series(
      `1, 1, '${other}', 'a', 0, 100, NULL`,
      `2, 1, '${own}', 'b', 0, 0, NULL`,
      `3, 1, '${own}', 'a', 0, 0, NULL`,
      `4, 2, '${own}', 'a', 0, 0, NULL`,
      `5, 3, '${own}', 'a', 0, 0, NULL`,
      `6, 1, '${own}', 'c', 0, 0, NULL`,
    ),
    interval_energy: intervals(
      ...[
        // Two of four, one by each bit. Earlier ones, and others bits, do not count.
        '1, 0, 8',
        '1, 1, 8',
        '1, 2, 32',
        '1, 3, 0',
        '1, 4, 64',
        // One of one is too few.
        '2, 1, 8',
        // Two of three.
        '3, 1, 8',
        '3, 2, 8',
        '3, 3, 0',
        '4, 1, 8',
        '4, 2, 8',
        '5, 1, 8',
        '5, 2, 8',
        // Two of five is too small a share.
        '6, 1, 8',
        '6, 2, 8',
        '6, 3, 0',
        '6, 4, 0',
        '6, 5, 0',
      ].map((row) => row.replace(/(.*), (.*), (.*)/, '$1, $2, 0, 0, $3, NULL')),
    ),
  };
  const limits = { newest_ms: 100, beyond_flags: 8 + 32, intervals_min: 2, share_min: 0.5 };
  const rows = [
    [4, own, 'a', 900, 2, 3],
    [4, other, 'a', 900, 2, 4],
  ];
  expect(await found(tables, 'problems/find_beyond_power', { ...limits, rows_max: 9 })).toEqual(rows);
  expect(await found(tables, 'problems/find_beyond_power', { ...limits, rows_max: 1 })).toEqual(
    rows.slice(0, 1),
  );
});

const FOREVER_MS = 1_000;
const changeLimits = {
  ...{ newest_ms: 100, forever_ms: FOREVER_MS, factor: 10, factor_kilo: 1_000 },
  ...{ tolerance_share: 0.01, value_min_wh: 100, rows_max: 9 },
};
/** Events of one series: kind, from and to, the value before and after. */
function changes(...rows: Array<[kind: string, from: number, to: number, before: number, after: number]>) {
  return {
    energy_stream: streams(stream(1, 4, {})),
    series: series(`1, 1, '${own}', 'a', 0, 100, NULL`),
    energy_event: [
      'series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh',
      ...rows.map(([kind, ...numbers]) => `1, '${kind}', ${numbers.join(', ')}, 0`),
    ] satisfies TableRows,
  };
}

for (const [what, at, event] of [
  ['a reset to a thousandth', 50, ['reset', 40, 50, 500_000, 500]],
  ['a rebase to a thousand times', 50, ['rebase', 40, 50, 500, 500_000]],
  ['a reset to a thousandth within the tolerance', 50, ['reset', 40, 50, 504_500, 500]],
  ['a reset beyond the tolerance', null, ['reset', 40, 50, 505_500, 500]],
  ['a reset to a tenth, which has other reasons', null, ['reset', 40, 50, 5_000, 500]],
  ['a spike that has not come back, to ten times', 40, ['spike', 40, FOREVER_MS, 500, 5_000]],
  ['a glitch that has not come back, to a tenth', 40, ['glitch', 40, FOREVER_MS, 5_000, 500]],
  ['a glitch that has not come back, to a thousandth', 40, ['glitch', 40, FOREVER_MS, 500_000, 500]],
  ['a glitch that has come back', null, ['glitch', 40, 50, 5_000, 500]],
  ['a rollover', null, ['rollover', 40, 50, 500_000, 500]],
  ['a reset of small values', null, ['reset', 40, 50, 99_999, 99.999]],
  ['a reset to the least value', 50, ['reset', 40, 50, 100_000, 100]],
  ['a reset in the newest time', 1, ['reset', 0, 1, 500_000, 500]],
  ['an earlier reset', null, ['reset', 0, 0, 500_000, 500]],
] as const)
  test(`the unit of a register has ${at === null ? 'not ' : ''}changed: ${what}`, async () => {
    const rows = await found(changes([...event]), 'problems/find_unit_changes', changeLimits);
    expect(rows).toEqual(at === null ? [] : [[4, own, 'a', at, event[3], event[4]]]);
  });

test('of several changes of a unit the last one is read', async () => {
  const tables = changes(
    ['reset', 40, 50, 500_000, 500],
    ['rebase', 50, 60, 700, 700_000],
    ['reset', 55, 58, 600_000, 600],
  );
  expect(await found(tables, 'problems/find_unit_changes', changeLimits)).toEqual([
    [4, own, 'a', 60, 700, 700_000],
  ]);
});

test('a day contradicts in the newest days, if there are enough of them and the stream is configured', async () => {
  const days = [
    // Two of the newest three days, and an earlier one. Other flags do not count.
    [1, other, 'a', '2026-11-17', 3],
    [1, other, 'a', '2026-11-18', 3],
    [1, other, 'a', '2026-11-19', 2],
    [1, other, 'a', '2026-11-20', 1],
    // Only one.
    [1, own, 'b', '2026-11-17', 2],
    [1, own, 'b', '2026-11-18', 2],
    [1, own, 'a', '2026-11-19', 2],
    [1, own, 'a', '2026-11-20', 2],
    // No longer configured.
    [2, own, 'c', '2026-11-19', 2],
    [2, own, 'c', '2026-11-20', 2],
  ];
  const tables = {
    energy_stream: streams(stream(1, 4, {}), stream(2, null, {})),
    daily_energy: [
      'stream_id, device, source, day, flags, energy_wh, method, coverage, status, version, computed_at_ms, batch_id',
      ...days.map(
        ([id, device, source, day, flags]) =>
          `${id}, '${device}', '${source}', '${day}', ${flags}, 0, '', 1, '', 1, 0, 0`,
      ),
    ] satisfies TableRows,
  };
  const limits = { contradicted_flag: 2, newest_days: 3, days_min: 2 };
  const rows = [
    [4, own, 'a', 2, '2026-11-20'],
    [4, other, 'a', 2, '2026-11-19'],
  ];
  expect(await found(tables, 'problems/find_contradicted', { ...limits, rows_max: 9 })).toEqual(rows);
  expect(await found(tables, 'problems/find_contradicted', { ...limits, rows_max: 1 })).toEqual(
    rows.slice(0, 1),
  );
});
