import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 70, each over a few rows. Golden cases have whole days. */
const open = chapterTables();
const QUARTER_MS = 900_000;
const DAY_MS = 96 * QUARTER_MS;
const SILENCE_MS = ruleConstants.silence_ms.value;
const { estimated, gap, spike, reset, silence_start, silence_end } = flagBits;
const SCOPE =
  'series_id INTEGER, method VARCHAR, compute_from_ms BIGINT, compute_to_ms BIGINT, last_ms BIGINT, has_later BOOLEAN';
const LINE =
  'series_id INTEGER, from_ms BIGINT, from_wh DOUBLE, to_ms BIGINT, to_wh DOUBLE, covered BOOLEAN, flags USMALLINT, mark_before DOUBLE';
const bounds = { low_ms: 0n, high_ms: BigInt(DAY_MS) };
const q = (quarters: number) => quarters * QUARTER_MS;
/** A series in scope from quarter 2 to quarter 90. */
const inScope = (id: number, method: string, hasLater = true) => [id, method, q(2), q(90), q(90), hasLater];

test('a mark has moved if the last reading in scope, or the value there, is not what was stored', async () => {
  const { fill, run, rows } = await open();
  const total = (id: number) => inScope(id, 'total_energy');
  await fill('scope', SCOPE, ...[1, 2, 3, 4, 5].map(total));
  await fill('scope', SCOPE, inScope(6, 'total_energy', false), inScope(7, 'daily_energy'));
  const MARK = 'series_id, interval_start_ms, last_ms, last_value';
  for (const id of [1, 2, 3, 4, 6, 7])
    await fill(
      'interval_energy',
      MARK,
      [id, q(4), q(4) + 5, 50],
      [id, q(2), q(2), 99],
      [id, q(5), null, null],
    );
  // Before the scope, after it, and of no series in scope.
  await fill('interval_energy', MARK, [1, q(1), q(1), 7], [1, q(90), q(90), 8], [9, q(4), q(4), 9]);
  await run('collect_stored_marks', bounds);
  expect(await rows('stored_mark', 'series_id, last_ms, last_value')).toEqual(
    [1, 2, 3, 4].map((id) => [id, q(4) + 5, 50]),
  );
  await run('delete_intervals', bounds);
  expect(await rows('interval_energy', 'series_id, interval_start_ms')).toEqual([
    [1, q(1)],
    [1, q(90)],
    [9, q(4)],
  ]);
  await fill('interval_energy', MARK, [1, q(4), q(4) + 5, 50], [1, q(3), q(3), 60], [1, q(6), null, null]);
  await fill('interval_energy', MARK, [2, q(4), q(4) + 5, 51], [3, q(4), q(4) + 6, 50], [5, q(4), q(4), 1]);
  await run('collect_moved_marks', bounds);
  expect((await rows('moved_mark', 'series_id')).flat()).toEqual([2, 3, 4]);
});

const POWER =
  'series_id INTEGER, interval_index BIGINT, from_ms BIGINT, to_ms BIGINT, covered BOOLEAN, exact_nwh BIGINT';
const STORED = 'series_id, interval_start_ms, energy_wh, exact_nwh, covered_ms, flags';

test('energy of power is summed by interval, with the flag gap where it is not known', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, inScope(1, 'power_curve'), inScope(2, 'power_curve'));
  await fill(
    'power_line',
    POWER,
    [1, 2, 0, 300, true, 5],
    [1, 2, 300, 700, true, 6],
    [1, 2, 700, 900, false, 0],
    [2, 2, 0, 100, true, 7],
    [1, 89, 0, 100, true, 8],
    // Outside the scope, and of no series in scope.
    [1, 1, 0, 100, true, 9],
    [1, 90, 0, 100, true, 9],
    [3, 5, 0, 100, true, 9],
  );
  await run('store_power_intervals');
  expect(await rows('interval_energy', STORED)).toEqual([
    [1, q(2), 0, 11, 700, gap],
    [1, q(89), 0, 8, 100, 0],
    [2, q(2), 0, 7, 100, 0],
  ]);
});

test.each<[name: string, fromMs: number, toMs: number, quarters: number[], method?: string]>([
  ['one interval', q(5), q(5) + 1, [5]],
  ['up to its last interval', q(5) + 1, q(7), [5, 6, 7]],
  ['to before its last interval', q(5), q(7) - 1, [5, 6]],
  ['from the beginning of the scope', 0, q(3), [2, 3]],
  ['up to the beginning of the scope', 0, q(2), [2]],
  ['before the scope', 0, q(2) - 1, []],
  ['up to the last reading', q(88), q(95), [88, 89]],
  ['from the last reading', q(90), q(95), []],
  ['of a register', q(5), q(6), [], 'total_energy'],
])('a spike of power flags intervals: %s', async (_name, fromMs, toMs, quarters, method = 'power_curve') => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, inScope(1, method));
  await fill('power_line', POWER);
  await fill('energy_event', 'series_id, kind, from_ms, to_ms', [1, 'spike', fromMs, toMs]);
  await run('store_power_intervals');
  expect(await rows('interval_energy', STORED)).toEqual(
    quarters.map((place) => [1, q(place), 0, 0, 0, spike]),
  );
});

test('energy of power is rounded by its running sum of the local day, on the days in scope', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'scope',
    SCOPE,
    [1, 'power_curve', q(5), q(9), 0, false],
    [2, 'total_energy', q(5), q(9), 0, false],
  );
  await fill('local_day', 'day DATE, start_ms BIGINT, end_ms BIGINT');
  const days = [0, 1, 2].map((place) => [`1970-01-0${place + 1}`, q(place * 4), q(place * 4 + 4)]);
  await fill('local_day', 'day, start_ms, end_ms', ...days);
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE',
    ...Array.from({ length: 12 }, (_, place) => [place, `1970-01-0${Math.floor(place / 4) + 1}`]),
  );
  const places = [3, 4, 5, 6, 7, 8];
  for (const id of [1, 2, 3])
    await fill(
      'interval_energy',
      'series_id, interval_start_ms, energy_wh, exact_nwh',
      ...places.map((place) => [id, q(place), 9, place === 6 ? null : 400_000_000]),
    );
  await run('round_intervals');
  // 0.4, 0.8 and 1.2 Wh since midnight, and 0.4 Wh on the next day.
  const energyOf = async (id: number) =>
    (await rows(`interval_energy WHERE series_id = ${id}`, 'interval_start_ms, energy_wh')).map(
      ([, wh]) => wh,
    );
  expect(await energyOf(1)).toEqual([9, 0, 1, 9, 0, 0]);
  expect([await energyOf(2), await energyOf(3)].flat()).toEqual(Array.from({ length: 12 }, () => 9));
});

interface Register {
  /** Pairs of quarters and Wh, of a register that only grows. */
  pairs?: Array<[from: number | null, fromWh: number, to: number, toWh: number]>;
  /** Lines of any other register. */
  lines?: Array<
    [
      from: number,
      fromWh: number,
      to: number,
      toWh: number,
      more?: { flags?: number; covered?: boolean; mark?: number },
    ]
  >;
  shares?: Array<[quarter: number, share: number]>;
  method?: string;
}

/** The stored intervals of a register: quarter, Wh, minutes, flags, and the last reading with its mark. */
async function intervalsOf({ pairs = [], lines = [], shares = [], method = 'total_energy' }: Register) {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  await fill('scope', SCOPE, inScope(1, method), inScope(2, 'total_energy'));
  await fill('needs_full_index', 'series_id INTEGER', ...(lines.length > 0 ? [[1]] : []));
  await fill(
    'reading_pair',
    'series_id, from_ms, from_value, to_ms, to_value, is_last',
    ...pairs.map(([from, fromWh, to, toWh], place) => [
      1,
      from === null ? null : q(from),
      from === null ? null : fromWh,
      q(to),
      toWh,
      place === pairs.length - 1,
    ]),
  );
  await fill(
    'index_line',
    LINE,
    ...lines.map(([from, fromWh, to, toWh, { flags = 0, covered = true, mark = fromWh } = {}]) => [
      1,
      q(from),
      fromWh,
      q(to),
      toWh,
      covered,
      flags,
      mark,
    ]),
  );
  await fill(
    'silence_shape',
    'series_id INTEGER, interval_index BIGINT, share DOUBLE',
    ...shares.map(([place, share]) => [1, place, share]),
    [2, 12, 0.9],
  );
  for (const name of [
    'collect_not_plain_series',
    'collect_booked_lines',
    'collect_line_flags',
    'create_interval_bound',
    'store_register_intervals',
  ])
    await run(name);
  const found = await rows(
    'interval_energy WHERE series_id = 1',
    'interval_start_ms, energy_wh, covered_ms, flags, last_ms, last_value',
  );
  return found.map(([start, wh, covered, flags, last, mark]) => [
    Number(start) / QUARTER_MS,
    wh,
    Number(covered) / 60_000,
    flags,
    last === null ? null : Number(last) / QUARTER_MS,
    mark,
  ]);
}
type Interval = [
  quarter: number,
  wh: number,
  minutes: number,
  flags: number,
  last: number | null,
  mark: number | null,
];
const SILENT = SILENCE_MS / QUARTER_MS;

const registers: Array<[name: string, register: Register, intervals: Interval[]]> = [
  [
    'is read at a bound, and again in the same interval',
    {
      pairs: [
        [null, 0, 4.5, 100],
        [4.5, 100, 5, 110],
        [5, 110, 5.5, 120],
        [5.5, 120, 6.25, 150],
      ],
    },
    [
      [4, 10, 7.5, 0, 4.5, 100],
      [5, 30, 15, 0, 5.5, 120],
      [6, 10, 3.75, 0, 6.25, 150],
    ],
  ],
  [
    'grows from its first reading to its last one',
    {
      pairs: [
        [null, 0, 4.5, 100],
        [4.5, 100, 5.5, 120],
        [5.5, 120, 5.75, 140],
      ],
    },
    [
      [4, 10, 7.5, 0, 4.5, 100],
      [5, 30, 11.25, 0, 5.75, 140],
    ],
  ],
  [
    'is not read in some intervals, and its energy is rounded at each bound',
    {
      pairs: [
        [null, 0, 4, 100.4],
        [4, 100.4, 8, 101.8],
      ],
    },
    [
      [4, 1, 15, 0, 4, 100.4],
      [5, 0, 15, 0, null, null],
      [6, 0, 15, 0, null, null],
      [7, 1, 15, 0, null, null],
      [8, 0, 0, 0, 8, 101.8],
    ],
  ],
  [
    'grows over two hours',
    {
      pairs: [
        [null, 0, 10.5, 0],
        [10.5, 0, 10.5 + SILENT, 80],
      ],
    },
    [
      [10, 5, 7.5, 0, 10.5, 0],
      ...Array.from({ length: SILENT - 1 }, (_, place): Interval => [11 + place, 10, 15, 0, null, null]),
      [10 + SILENT, 5, 7.5, 0, 10.5 + SILENT, 80],
    ],
  ],
  [
    'grows in a silence, spread evenly but for a known share',
    {
      pairs: [
        [null, 0, 10, 0],
        [10, 0, 19, 90],
      ],
      shares: [[12, 0.5]],
    },
    [
      [10, 10, 15, estimated | silence_end, 10, 0],
      [11, 35, 15, estimated | silence_start | silence_end, null, null],
      [12, -15, 15, estimated | silence_start | silence_end, null, null],
      ...[13, 14, 15, 16, 17].map(
        (place): Interval => [place, 10, 15, estimated | silence_start | silence_end, null, null],
      ),
      [18, 10, 15, estimated | silence_start, null, null],
      [19, 0, 0, 0, 19, 90],
    ],
  ],
  [
    'has a reset, with its flag',
    {
      lines: [
        [4, 100, 5, 110],
        [5, 0, 6, 20, { flags: reset, mark: 110 }],
      ],
    },
    [
      [4, 10, 15, 0, 4, 100],
      [5, 20, 15, reset, 5, 110],
      [6, 0, 0, 0, 6, 20],
    ],
  ],
  [
    'has a line without coverage',
    {
      lines: [
        [4, 100, 4.5, 110],
        [4.5, 50, 5.5, 50, { covered: false, flags: flagBits.rebase }],
        [5.5, 50, 6, 60],
      ],
    },
    [
      [4, 10, 7.5, flagBits.rebase, 4.5, 50],
      [5, 10, 7.5, flagBits.rebase, 5.5, 50],
      [6, 0, 0, 0, 6, 60],
    ],
  ],
  [
    'is read at a bound, where a line without a length follows',
    {
      lines: [
        [3, 0, 4, 10],
        [5, 10, 5, 10, { covered: false }],
        [4, 10, 5, 10],
        [5, 10, 6, 20],
      ],
    },
    [
      [3, 10, 15, 0, 3, 0],
      [4, 0, 15, 0, 4, 10],
      [5, 10, 15, 0, 5, 10],
      [6, 0, 0, 0, 6, 20],
    ],
  ],
  [
    'has time between two lines, of which nothing is known',
    {
      lines: [
        [4, 100, 4.5, 110],
        [5.25, 0, 6, 30],
      ],
      method: 'daily_energy',
    },
    [
      [4, 10, 7.5, 0, 4.5, 0],
      [5, 30, 11.25, 0, 5.25, 0],
      [6, 0, 0, 0, 6, 30],
    ],
  ],
];
test.each(registers)('the intervals of a register that %s', async (_name, register, intervals) => {
  expect(await intervalsOf(register)).toEqual(intervals);
});

test('the intervals of a register are stored from the beginning of the scope to its end', async () => {
  const pairs: Register['pairs'] = [1, 2, 3, 89, 90, 91].map((to, place, all) => [
    all[place - 1] ?? null,
    place,
    to,
    place + 1,
  ]);
  const found = await intervalsOf({ pairs });
  expect(found.map(([place]) => place)).toEqual(Array.from({ length: 88 }, (_, place) => 2 + place));
});
