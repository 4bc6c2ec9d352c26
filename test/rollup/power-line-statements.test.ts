import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';

/** The view of chapter 65 that cuts lines of power, over a few rows. */
const open = chapterTables();
const QUARTER_MS = 900_000;
/** A piece of a line, in the interval of this place: its points in quarters of an hour and W, and mWh. */
type Piece = [place: number, from: number, fromW: number, to: number, toW: number, mwh: number];
const LINE =
  'series_id INTEGER, direction VARCHAR, from_ms BIGINT, from_w DOUBLE, to_ms BIGINT, to_w DOUBLE, covered BOOLEAN';
const COVERED = true;
const UNKNOWN = false;

const pieces: Array<
  [
    name: string,
    direction: string | null,
    line: [from: number, fromW: number, to: number, toW: number, covered: boolean],
    pieces: Piece[],
  ]
> = [
  ['in an interval', null, [4.2, 100, 4.6, 200, COVERED], [[4, 4.2, 100, 4.6, 200, 15_000]]],
  ['over an interval', null, [4, 100, 5, 100, COVERED], [[4, 4, 100, 5, 100, 25_000]]],
  ['of which nothing is known', null, [4, 100, 5, 100, UNKNOWN], [[4, 4, 100, 5, 100, 0]]],
  [
    'over one bound',
    null,
    [4.5, 0, 5.5, 80, COVERED],
    [
      [4, 4.5, 0, 5, 40, 2_500],
      [5, 5, 40, 5.5, 80, 7_500],
    ],
  ],
  [
    'over two intervals',
    null,
    [4, 0, 6, 80, UNKNOWN],
    [
      [4, 4, 0, 5, 40, 0],
      [5, 5, 40, 6, 80, 0],
    ],
  ],
  [
    'over several bounds',
    null,
    [4.5, 0, 6.5, -80, COVERED],
    [
      [4, 4.5, 0, 5, -20, -1_250],
      [5, 5, -20, 6, -60, -10_000],
      [6, 6, -60, 6.5, -80, -8_750],
    ],
  ],
  ['without a length', null, [4.5, 10, 4.5, 10, COVERED], []],
  ['that ends before it begins', null, [5.5, 10, 4.5, 10, COVERED], []],
  ['that ends intervals before it begins', null, [7.5, 10, 4.5, 10, COVERED], []],
  ['in the declared direction', 'positive', [4, 40, 5, 80, COVERED], [[4, 4, 40, 5, 80, 15_000]]],
  ['in the declared negative direction', 'negative', [4, -40, 5, -80, COVERED], [[4, 4, 40, 5, 80, 15_000]]],
  ['of zero', 'positive', [4, 0, 5, 0, COVERED], [[4, 4, 0, 5, 0, 0]]],
  ['against the direction', 'positive', [4, -40, 5, -80, COVERED], [[4, 4, 0, 5, 0, 0]]],
  ['against the negative direction', 'negative', [4, 40, 5, 80, UNKNOWN], [[4, 4, 0, 5, 0, 0]]],
  ['that begins at zero', 'positive', [4, 0, 5, 80, COVERED], [[4, 4, 0, 5, 80, 10_000]]],
  [
    'that crosses zero upwards',
    'positive',
    [4, -80, 5, 240, COVERED],
    [
      [4, 4, 0, 4.25, 0, 0],
      [4, 4.25, 0, 5, 240, 22_500],
    ],
  ],
  [
    'that crosses zero downwards, at a bound',
    'positive',
    [4, 80, 6, -80, UNKNOWN],
    [
      [4, 4, 80, 5, 0, 0],
      [5, 5, 0, 6, 0, 0],
    ],
  ],
  [
    'that crosses zero, of a negative direction',
    'negative',
    [4.5, 40, 6.5, -120, COVERED],
    [
      [4, 4.5, 0, 5, 0, 0],
      [5, 5, 0, 6, 80, 10_000],
      [6, 6, 80, 6.5, 120, 12_500],
    ],
  ],
];
test.each(pieces)(
  'a line of power is cut at bounds and where it crosses zero: a line %s',
  async (_name, direction, line, expected) => {
    const { fill, run, rows } = await open();
    const [from, fromW, to, toW, covered] = line;
    await fill('sampled_line', LINE, [1, direction, from * QUARTER_MS, fromW, to * QUARTER_MS, toW, covered]);
    await run('create_power_line');
    const found = await rows(
      'power_line',
      `interval_index, from_ms / ${QUARTER_MS}, from_w, to_ms / ${QUARTER_MS}, to_w, exact_nwh / 1e6, covered, series_id`,
    );
    expect(found).toEqual(expected.map((piece) => [...piece, covered, 1]));
  },
);

test('energy of power is in whole billionths of a Wh, and a line without a beginning has none', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'sampled_line',
    LINE,
    [1, null, 0, 0, 1, 2, COVERED],
    [2, null, 0, 2, 2, 3, COVERED],
    [3, null, null, 1, 2, 3, COVERED],
    [4, 'positive', null, 1, 2, 3, COVERED],
  );
  await run('create_power_line');
  // 1 W over 1 ms is 277.8 nWh, and 2.5 W over 2 ms are 1388.9 nWh.
  expect(await rows('power_line', 'series_id, exact_nwh')).toEqual([
    [1, 278],
    [2, 1_389],
  ]);
});
