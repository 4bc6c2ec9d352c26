import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 60 that make lines of registers, each over a few rows. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const QUARTER_MS = 900_000;
const SCOPE = 'series_id INTEGER, method VARCHAR, anchor_ms BIGINT, first_ms BIGINT, last_ms BIGINT';
const RULE =
  'series_id INTEGER, device UUID, source VARCHAR, method VARCHAR, net BOOLEAN, within_day BOOLEAN, jitter_wh DOUBLE';
const INDEX =
  'series_id INTEGER, method VARCHAR, event_time_ms BIGINT, value DOUBLE, mark DOUBLE, kind VARCHAR, energy_wh DOUBLE, index_segment BIGINT';
const bounds = { low_ms: 100n, high_ms: 900n };
const { reset, jitter, glitch, spike } = flagBits;

interface Register {
  method?: string;
  net?: boolean;
  withinDay?: boolean;
  beside?: string;
  besideDevice?: string;
  besideSource?: string;
  besideDaily?: boolean;
  pair?: [fromWh: number, toWh: number];
  event?: [fromMs: number, toMs: number];
  mark?: number;
  markMs?: number;
  isNeeded?: boolean;
  all?: boolean;
}
/** A register in scope from 100 to 900, with one pair of readings that ends at its anchor. */
const full: Array<[name: string, register: Register, isFull: boolean]> = [
  ['only grows', {}, false],
  ['stands still', { pair: [10, 10] }, false],
  ['fell', { pair: [10, 9] }, true],
  ['fell, and is net', { pair: [10, 9], net: true }, false],
  ['is power that fell', { pair: [10, 9], method: 'power_curve' }, false],
  ['restarts every day', { method: 'daily_energy' }, true],
  ['has the boundary within_day', { withinDay: true }, true],
  ['is power with that boundary', { withinDay: true, method: 'power_curve' }, false],
  ['is asked for', { all: true }, true],
  ['is power, and all registers are asked for', { all: true, method: 'power_curve' }, false],
  ['is beside a daily register', { beside: 'daily_energy', besideDaily: true }, true],
  ['is beside power', { beside: 'power_curve', besideDaily: true }, false],
  [
    'is beside a daily register of another device',
    { beside: 'daily_energy', besideDaily: true, besideDevice: two },
    false,
  ],
  [
    'is beside a daily register of another source',
    { beside: 'daily_energy', besideDaily: true, besideSource: 'b' },
    false,
  ],
  [
    'is power beside a daily register',
    { method: 'power_curve', beside: 'daily_energy', besideDaily: true },
    false,
  ],
  ['has an event that ends where the scope begins', { event: [50, 100] }, true],
  ['has an event that ends before', { event: [50, 99] }, false],
  ['has an event that begins where the scope ends', { event: [900, 950] }, true],
  ['has an event that begins after', { event: [901, 950] }, false],
  ['is power with an event', { event: [200, 300], method: 'power_curve' }, false],
  ['had a mark above the reading at its anchor', { mark: 21 }, true],
  ['had the mark of that reading', { mark: 20 }, false],
  ['had a mark of another reading', { mark: 21, markMs: 99 }, false],
  ['had a mark above a later reading', { mark: 21, markMs: 150 }, false],
  ['is power with a mark', { mark: 21, method: 'power_curve' }, false],
  ['had such a mark, but the pair is not needed', { mark: 21, isNeeded: false }, false],
];
test.each(full)(
  'the index of a register is more than its pairs, or not: it %s',
  async (_name, register, isFull) => {
    const { fill, run, rows } = await open();
    await run('create_empty_tables');
    const { method = 'total_energy', pair = [10, 20], net = false, withinDay = false } = register;
    await fill('scope', SCOPE, [1, method, 100, 100, 900], [2, 'total_energy', 0, 0, 9_000]);
    await fill('series_rule', RULE, [1, one, 'a', method, net, withinDay, null]);
    if (register.beside !== undefined) {
      const [device, source] = [register.besideDevice ?? one, register.besideSource ?? 'a'];
      await fill('series_rule', RULE, [3, device, source, register.beside, false, false, null]);
    }
    await fill(
      'reading_pair',
      'series_id, from_ms, from_value, to_ms, to_value, is_needed',
      [1, 50, pair[0], 100, pair[1], register.isNeeded ?? true],
      [1, 100, pair[1], 150, pair[1], true],
      [3, 50, 9, 100, 1, true],
    );
    if (register.event !== undefined)
      await fill('energy_event', 'series_id, kind, from_ms, to_ms', [1, 'reset', ...register.event]);
    if (register.mark !== undefined)
      await fill('interval_energy', 'series_id, interval_start_ms, last_ms, last_value', [
        1,
        0,
        register.markMs ?? 100,
        register.mark,
      ]);
    await run('collect_needs_full_index', {
      ...bounds,
      all: register.all ?? false,
      beside_daily: register.besideDaily ?? false,
    });
    expect(await rows('needs_full_index WHERE series_id = 1', 'series_id')).toEqual(isFull ? [[1]] : []);
  },
);

type IndexReading = [
  ms: number,
  value: number,
  kind?: string | null,
  energyWh?: number | null,
  segment?: number,
  mark?: number,
];
/** A line: its points in quarters and Wh, covered, flags, and the mark before it. */
type Line = [
  from: number,
  fromWh: number,
  to: number,
  toWh: number,
  covered: boolean,
  flags: number,
  mark: number,
];
const lines: Array<
  [
    name: string,
    readings: IndexReading[],
    lines: Line[],
    more?: { net?: boolean; withinDay?: boolean; skipped?: number },
  ]
> = [
  [
    'growth',
    [
      [1, 10],
      [2, 15],
    ],
    [[1, 10, 2, 15, true, 0, 10]],
  ],
  [
    'a fall, up to the mark',
    [
      [1, 10],
      [2, 8],
      [3, 10],
      [4, 11],
    ],
    [
      [1, 10, 2, 10, true, jitter, 10],
      [2, 10, 3, 10, true, 0, 10],
      [3, 10, 4, 11, true, 0, 10],
    ],
  ],
  [
    'a fall of a net register',
    [
      [1, 10],
      [2, 8],
      [3, 10],
    ],
    [
      [1, 10, 2, 8, true, 0, 10],
      [2, 8, 3, 10, true, 0, 8],
    ],
    { net: true },
  ],
  [
    'a stored mark',
    [
      [1, 10, null, null, 0, 12],
      [2, 11],
    ],
    [[1, 12, 2, 12, true, jitter, 12]],
  ],
  [
    'a reset',
    [
      [1, 10],
      [2, 3, 'reset', 2, 1],
      [3, 4, null, null, 1],
    ],
    [
      [1, 1, 2, 3, true, reset, 10],
      [2, 3, 3, 4, true, 0, 3],
    ],
  ],
  [
    'a rebase',
    [
      [1, 10],
      [2, 3, 'rebase', 2, 1],
    ],
    [[1, 3, 2, 3, false, flagBits.rebase, 10]],
  ],
  [
    'readings that are left out',
    [
      [1, 10],
      [2, 15],
      [3, 15],
    ],
    [
      [1, 10, 2, 15, true, glitch, 10],
      [2, 15, 3, 15, true, 0, 15],
    ],
    { skipped: 2 },
  ],
  [
    'a day to the next',
    [
      [95, 10],
      [96, 15],
      [97, 17],
    ],
    [
      [95, 15, 96, 15, false, 0, 10],
      [96, 15, 97, 17, true, 0, 15],
    ],
    { withinDay: true },
  ],
  [
    'a day to the next, of any other register',
    [
      [95, 10],
      [96, 15],
    ],
    [[95, 10, 96, 15, true, 0, 10]],
  ],
  [
    'a day',
    [
      [94, 10],
      [95, 15],
    ],
    [[94, 10, 95, 15, true, 0, 10]],
    { withinDay: true },
  ],
];
test.each(lines)('the lines of a lifetime register over %s', async (_name, readings, expected, more = {}) => {
  const { fill, run, rows } = await open();
  await fill('series_rule', RULE, [
    1,
    one,
    'a',
    'total_energy',
    more.net ?? false,
    more.withinDay ?? false,
    null,
  ]);
  await fill('series_rule', RULE, [2, one, 'a', 'total_energy', false, false, null]);
  await fill(
    'index_reading',
    INDEX,
    ...readings.map(([quarter, value, kind = null, energyWh = null, segment = 0, mark = value]) => [
      1,
      'total_energy',
      quarter * QUARTER_MS,
      value,
      mark,
      kind,
      energyWh,
      segment,
    ]),
    [1, 'daily_energy', 5, 99, 99, null, null, 0],
    [2, 'total_energy', 1.5 * QUARTER_MS, 99, 99, null, null, 0],
  );
  await fill(
    'interval_day',
    'interval_index BIGINT, end_ms BIGINT',
    ...[94, 95, 96].map((place) => [place, (place < 96 ? 96 : 192) * QUARTER_MS]),
  );
  const flagged = 'series_id INTEGER, to_ms BIGINT, flags USMALLINT';
  await fill('skipped_reading', flagged, [2, 2 * QUARTER_MS, spike]);
  if (more.skipped !== undefined)
    await fill('skipped_reading', flagged, [1, more.skipped * QUARTER_MS, glitch]);
  await run('collect_lines');
  expect(
    await rows(
      'index_line',
      `from_ms // ${QUARTER_MS} AS from_quarter, from_wh, to_ms // ${QUARTER_MS} AS to_quarter, to_wh, covered, flags, mark_before`,
    ),
  ).toEqual(expected);
});
