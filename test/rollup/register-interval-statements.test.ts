import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 70 for registers, over a few rows. Golden cases have whole days. */
const open = chapterTables();
const QUARTER_MS = 900_000;
const SILENCE_MS = ruleConstants.silence_ms.value;
const { estimated, jitter, rebase, reset, silence_start, silence_end, spike } = flagBits;
const SCOPE = 'series_id INTEGER, method VARCHAR, compute_from_ms BIGINT, compute_to_ms BIGINT';
const LINE =
  'series_id INTEGER, from_ms BIGINT, from_wh DOUBLE, to_ms BIGINT, to_wh DOUBLE, covered BOOLEAN, flags USMALLINT, mark_before DOUBLE';
const q = (quarters: number) => quarters * QUARTER_MS;
/** A series in scope from quarter 2 to quarter 90. */
const inScope = (id: number, method: string) => [id, method, q(2), q(90)];

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

/** The line of another register. */
const otherLine = [2, q(4.5), 1_000, q(5.5), 1_100, true, spike, 0];

/** The stored intervals of a register: quarter, Wh, minutes, flags, and the last reading with its mark. */
async function intervalsOf({ pairs = [], lines = [], shares = [], method = 'total_energy' }: Register) {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  await fill('scope', SCOPE, inScope(1, method), inScope(2, 'total_energy'));
  await fill('needs_full_index', 'series_id INTEGER', [2], ...(lines.length > 0 ? [[1]] : []));
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
    otherLine,
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
        [4.5, 50, 5.5, 50, { covered: false, flags: rebase }],
        [5.5, 50, 6, 60],
      ],
    },
    [
      [4, 10, 7.5, rebase, 4.5, 50],
      [5, 10, 7.5, rebase, 5.5, 50],
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
    'is read a little more than a quarter of an hour later, over one bound',
    {
      pairs: [
        [null, 0, 4.25, 100.6],
        [4.25, 100.6, 5.75, 130.6],
        [5.75, 130.6, 7.5, 165.6],
      ],
    },
    [
      [4, 15, 11.25, 0, 4.25, 100.6],
      [5, 20, 15, 0, 5.75, 130.6],
      [6, 20, 15, 0, null, null],
      [7, 10, 7.5, 0, 7.5, 165.6],
    ],
  ],
  [
    'is read at a bound and over the next one',
    {
      pairs: [
        [null, 0, 4, 100],
        [4, 100, 5.5, 130],
      ],
    },
    [
      [4, 20, 15, 0, 4, 100],
      [5, 10, 7.5, 0, 5.5, 130],
    ],
  ],
  [
    'grows in a silence that ends in an interval',
    {
      pairs: [
        [null, 0, 9, 0],
        [9, 0, 18.5, 95],
      ],
    },
    [
      [9, 10, 15, estimated | silence_end, 9, 0],
      ...[10, 11, 12, 13, 14, 15, 16, 17].map(
        (place): Interval => [place, 10, 15, estimated | silence_start | silence_end, null, null],
      ),
      [18, 5, 7.5, estimated | silence_start, 18.5, 95],
    ],
  ],
  [
    'has lines, and pairs that do not count',
    {
      pairs: [
        [null, 0, 3, 90],
        [3, 90, 5, 10],
        [5, 10, 6, 20],
      ],
      lines: [
        [4, 0.4, 5, 0.8, { flags: reset }],
        [5, 0.8, 5.5, 11, { flags: jitter }],
        [5.5, 11, 6, 21, { flags: reset }],
      ],
    },
    [
      [4, 1, 15, reset, 4, 0.4],
      [5, 20, 15, reset | jitter, 5.5, 11],
      [6, 0, 0, 0, 6, 21],
    ],
  ],
  [
    'has a rebase over several intervals',
    {
      lines: [
        [4, 50, 6, 50, { covered: false, flags: rebase, mark: 90 }],
        [6, 50, 8, 70, { covered: false }],
      ],
    },
    [
      [4, 0, 0, rebase, 4, 90],
      [5, 0, 0, rebase, null, null],
      [6, 10, 0, 0, 6, 50],
      [7, 10, 0, 0, null, null],
      [8, 0, 0, 0, 8, 70],
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

test('registers that do not only grow are not plain, and no other method is', async () => {
  const { fill, run, rows } = await open();
  const methods = ['total_energy', 'total_energy', 'daily_energy', 'power_curve', 'interval_energy'];
  await fill('scope', SCOPE, ...methods.map((method, place) => inScope(place, method)));
  await fill('needs_full_index', 'series_id INTEGER', [1]);
  await run('collect_not_plain_series');
  expect((await rows('not_plain_series', 'series_id')).flat()).toEqual([1, 2, 3, 4]);
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
