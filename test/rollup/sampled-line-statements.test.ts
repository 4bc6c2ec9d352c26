import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The view of chapter 65 that makes lines of samples, over a few rows. Golden cases have whole days. */
const open = chapterTables();
const MINUTE_MS = 60_000;
const RULE =
  'series_id INTEGER, method VARCHAR, sampling VARCHAR, label_end BOOLEAN, direction VARCHAR, max_gap_ms BIGINT, reading_interval_ms BIGINT';

interface Series {
  method?: string;
  sampling?: string;
  labelEnd?: boolean;
  direction?: string;
  maxGapMs?: number;
  readingIntervalMs?: number;
}
type Sample = [minute: number, value: number];
/** A line: its points in minutes and W, and whether its energy is known. */
type Line = [from: number, fromW: number, to: number, toW: number, covered: boolean];
interface More {
  events?: Array<[series: number, kind: string, from: number, to: number]>;
  limits?: Array<[series: number, day: number, step: number]>;
}

/** The lines of series 1. Series 2 has samples and settings of its own. */
async function sample(series: Series, samples: readonly Sample[], { events = [], limits = [] }: More = {}) {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  const { method = 'power_curve', sampling = 'instantaneous', labelEnd = false } = series;
  await fill(
    'series_rule',
    RULE,
    [
      1,
      method,
      sampling,
      labelEnd,
      series.direction ?? null,
      series.maxGapMs ?? null,
      series.readingIntervalMs ?? null,
    ],
    [2, 'power_curve', 'instantaneous', false, null, 1, 1],
  );
  const pairs = samples.map(([minute, value]) => [minute * MINUTE_MS, value]);
  await fill(
    'reading_pair',
    'series_id, to_ms, to_value',
    // In another order than that of time.
    ...pairs.toReversed().map((pair) => [1, ...pair]),
    ...pairs.map(([ms]) => [2, ms! + MINUTE_MS / 2, 999]),
  );
  await fill(
    'energy_event',
    'series_id, kind, from_ms, to_ms',
    ...events.map(([id, kind, from, to]) => [id, kind, from * MINUTE_MS, to * MINUTE_MS]),
  );
  await fill(
    'day_limit',
    'series_id, utc_day, learnt_step_ms',
    ...limits.map(([id, day, step]) => [id, day, step * MINUTE_MS]),
  );
  await run('create_sampled_line');
  const found = await rows(
    'sampled_line WHERE series_id = 1 AND to_ms > from_ms',
    `from_ms / ${MINUTE_MS}, from_w, to_ms / ${MINUTE_MS}, to_w, covered, direction`,
  );
  expect(found.filter((row) => row.at(-1) !== (series.direction ?? null))).toEqual([]);
  return found.map((row) => row.slice(0, -1));
}

const averages: Series = { sampling: 'interval_average' };
const energies: Series = { method: 'interval_energy', sampling: 'instantaneous' };
const { gap_steps, gap_steps_min, gap_max_ms } = ruleConstants;
const gapMinutes = gap_max_ms.value / MINUTE_MS;

const steps: More['limits'] = [
  [1, 0, 10],
  [1, 1, 7],
  [2, 0, 1],
  [2, 1, 1],
];
const lines: Array<[name: string, series: Series, samples: Sample[], lines: Line[], more?: More]> = [
  [
    'samples, from each one to the next',
    { direction: 'positive' },
    [
      [0, 100],
      [5, 300],
      [10, -50],
    ],
    [
      [0, 100, 5, 300, true],
      [5, 300, 10, -50, true],
    ],
  ],
  [
    'samples as far apart as the longest gap, and further',
    { maxGapMs: 20 * MINUTE_MS },
    [
      [0, 100],
      [20, 300],
      [40.1, 200],
    ],
    [
      [0, 100, 20, 300, true],
      [20, 300, 40.1, 200, false],
    ],
    { limits: [[1, 0, 30]] },
  ],
  [
    'samples of zero that are further apart',
    { maxGapMs: MINUTE_MS },
    [
      [0, 5],
      [20, 0],
      [40, 0],
      [60, 5],
    ],
    [
      [0, 5, 20, 0, false],
      [20, 0, 40, 0, true],
      [40, 0, 60, 5, false],
    ],
  ],
  [
    'samples of which no step is known',
    {},
    [
      [0, 1],
      [gapMinutes, 2],
      [2 * gapMinutes + 1, 3],
    ],
    [
      [0, 1, gapMinutes, 2, true],
      [gapMinutes, 2, 2 * gapMinutes + 1, 3, false],
    ],
    { limits: [[2, 0, 1_000]] },
  ],
  [
    'samples with the learnt step of the day of the second one',
    {},
    [
      [1_439, 1],
      [1_440 + gap_steps.value - 1, 2],
      [1_440 + 2 * gap_steps.value, 3],
    ],
    [
      [1_439, 1, 1_440 + gap_steps.value - 1, 2, true],
      [1_440 + gap_steps.value - 1, 2, 1_440 + 2 * gap_steps.value, 3, false],
    ],
    {
      limits: [
        [1, 0, 0.01],
        [1, 1, 1],
        [1, 2, 0.01],
        [2, 1, 100],
      ],
    },
  ],
  [
    'values that are sent on change',
    { sampling: 'on_change', maxGapMs: 1, direction: 'negative' },
    [
      [0, 100],
      [70, 300],
      [75, 5],
    ],
    [
      [0, 100, 70, 100, true],
      [70, 300, 75, 300, true],
    ],
  ],
  [
    'averages of the time after them',
    { ...averages, readingIntervalMs: 10 * MINUTE_MS, direction: 'positive' },
    [
      [0, 100],
      [10, 200],
      [15, 300],
      [40, 0],
      [60, 0],
      [80, 5],
    ],
    [
      [0, 100, 10, 100, true],
      [10, 200, 15, 200, true],
      [15, 300, 25, 300, true],
      [25, 0, 40, 0, false],
      [40, 0, 50, 0, true],
      [50, 0, 60, 0, true],
      [60, 0, 70, 0, true],
      [70, 0, 80, 0, false],
      [80, 5, 90, 5, true],
    ],
    { limits: [[1, 0, 3]] },
  ],
  [
    'averages of the time before them',
    { ...averages, readingIntervalMs: 10 * MINUTE_MS, labelEnd: true },
    [
      [100, 100],
      [110, 200],
      [115, 300],
      [140, 0],
      [160, 0],
    ],
    [
      [90, 100, 100, 100, true],
      [100, 200, 110, 200, true],
      [110, 300, 115, 300, true],
      [115, 0, 130, 0, false],
      [130, 0, 140, 0, true],
      [140, 0, 150, 0, true],
      [150, 0, 160, 0, true],
    ],
  ],
  ['averages of an unknown interval', averages, [[0, 100]], [[0, 100, 15, 100, true]]],
  [
    'averages with the learnt step of their day',
    averages,
    [
      [1_425, 0],
      [1_440, 0],
    ],
    [
      [1_425, 0, 1_435, 0, true],
      [1_435, 0, 1_440, 0, true],
      [1_440, 0, 1_447, 0, true],
    ],
    { limits: steps },
  ],
  [
    'averages of the time before them, with the learnt step of their day',
    { ...averages, labelEnd: true },
    [
      [1_425, 5],
      [1_440, 5],
    ],
    [
      [1_415, 5, 1_425, 5, true],
      [1_425, 0, 1_433, 0, false],
      [1_433, 5, 1_440, 5, true],
    ],
    { limits: steps },
  ],
  [
    'energies of the time after them',
    { ...energies, readingIntervalMs: 30 * MINUTE_MS },
    [
      [0, 100],
      [30, 100],
      [45, 60],
    ],
    [
      [0, 200, 30, 200, true],
      [30, 400, 45, 400, true],
      [45, 120, 75, 120, true],
    ],
  ],
  [
    'energies of the time before them',
    { ...energies, readingIntervalMs: 30 * MINUTE_MS, labelEnd: true },
    [
      [30, 0],
      [45, 60],
      [105, 0],
      [165, 0],
    ],
    [
      [0, 0, 30, 0, true],
      [30, 240, 45, 240, true],
      [45, 0, 75, 0, false],
      [75, 0, 105, 0, true],
      [105, 0, 135, 0, true],
      [135, 0, 165, 0, true],
    ],
  ],
  [
    'samples without those that are left out',
    { maxGapMs: 20 * MINUTE_MS },
    [
      [0, 10],
      [5, 900],
      [10, 950],
      [15, 20],
      [20, 30],
    ],
    [
      [0, 10, 15, 20, true],
      [15, 20, 20, 30, true],
    ],
    {
      events: [
        [1, 'spike', 5, 10],
        [2, 'spike', 15, 20],
      ],
    },
  ],
  [
    'no register',
    { method: 'total_energy' },
    [
      [0, 10],
      [5, 20],
    ],
    [],
  ],
  [
    'no daily register',
    { method: 'daily_energy' },
    [
      [0, 10],
      [5, 20],
    ],
    [],
  ],
];
test.each(lines)('lines of power follow from %s', async (_name, series, samples, expected, more) => {
  expect(await sample(series, samples, more)).toEqual(expected);
});

test.each([
  ['some steps', 10, 10 * gap_steps.value],
  ['the highest gap', 30, gapMinutes],
  ['a few steps, if that is more', 50, 50 * gap_steps_min.value],
])('the longest gap of a learnt step is %s', async (_name, step, gap) => {
  const samples: Sample[] = [
    [0, 1],
    [gap, 2],
    [2 * gap + 1, 3],
  ];
  const found = await sample({}, samples, { limits: [[1, 0, step]] });
  expect(found.map((line) => line.at(-1))).toEqual([true, false]);
});
