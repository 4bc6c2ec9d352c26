import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 62, over a few readings. Golden cases have whole days. */
const open = chapterTables();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const QUARTER_MS = HOUR_MS / 4;
const RULE = 'series_id INTEGER, first_ms BIGINT, max_power_w DOUBLE, jitter_wh DOUBLE';
const READING =
  'series_id INTEGER, method VARCHAR, event_time_ms BIGINT, value DOUBLE, kind VARCHAR, energy_wh DOUBLE';
const LINE =
  'series_id INTEGER, from_ms BIGINT, from_wh DOUBLE, to_ms BIGINT, to_wh DOUBLE, covered BOOLEAN, flags USMALLINT, mark_before DOUBLE';

interface Options {
  /** When the register restarted. */
  restarts?: number[];
  /** The first reading of the series. */
  first?: number;
  maxPower?: number | null;
  skipped?: number;
}

/** A register that can count 1000 W, with a jitter of 10 Wh. Series 2 is like it, but shows other values. */
async function readLines(
  readings: string,
  { restarts = [], first = -1, maxPower = 1_000, skipped }: Options = {},
) {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  await fill('scope', 'series_id INTEGER', [1], [2]);
  for (const id of [1, 2])
    await fill('series_rule', RULE, [id, first * HOUR_MS, maxPower, maxPower === null ? null : 10]);
  const LIMIT = 'series_id, utc_day, learnt_power_w, usual_power_w, learnt_resolution';
  await fill('day_limit', LIMIT, [1, 0, 9, 9, 9], [1, 1, 1_000, 100, 5], [2, 1, 9, 9, 9]);
  const ms = (hour: number) => Math.round(hour * HOUR_MS);
  const readingOf = (reading: string) => {
    const [hour, wh, kind = null, energyWh = null] = reading.split(' ');
    return [ms(Number(hour)), Number(wh), kind, energyWh === null ? null : Number(energyWh)];
  };
  const list = readings.split(', ').map(readingOf);
  const times = [...list.map(([atMs]) => Number(atMs)), ...[...restarts, 5, 25.5, 47.5].map(ms)];
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE, start_ms BIGINT, end_ms BIGINT',
    ...[...new Set(times.map((atMs) => Math.floor(atMs / QUARTER_MS)))].map((index) =>
      index < 96 ? [index, '1970-01-01', 0, DAY_MS] : [index, '1970-01-02', DAY_MS, 2 * DAY_MS],
    ),
  );
  await fill(
    'index_reading',
    READING,
    ...list.map((reading) => [1, 'daily_energy', ...reading]),
    [2, 'daily_energy', ms(5), 3, null, null],
    [2, 'daily_energy', ms(47.5), 4, null, null],
    [1, 'total_energy', ms(5), 3, null, null],
  );
  await fill(
    'energy_event',
    'series_id, kind, from_ms, to_ms',
    ...restarts.map((hour) => [1, 'reset', 0, ms(hour)]),
    [1, 'rebase', 0, ms(25.5)],
    [2, 'reset', 0, ms(25.5)],
  );
  await fill(
    'skipped_reading',
    'series_id INTEGER, to_ms BIGINT, flags USMALLINT',
    ...(skipped === undefined ? [] : [[1, ms(skipped), flagBits.glitch]]),
    [2, ms(11), flagBits.spike],
  );
  await fill('index_line', LINE);
  const high = Math.max(...list.map(([atMs]) => Number(atMs)));
  await run('collect_daily_readings', { low_ms: 0n, high_ms: BigInt(high) });
  await run('classify_daily_steps');
  await run('collect_daily_lines');
  return rows(
    'index_line WHERE series_id = 1',
    'to_ms, from_ms, from_wh, to_wh, flags, covered, mark_before',
  );
}

async function linesOf(readings: string, options?: Options) {
  const found = await readLines(readings, options);
  const hourOf = (cell: unknown) => Number(cell) / HOUR_MS;
  return found
    .map(([to, from, fromWh, toWh, flags, isCovered]) => {
      const names = Object.entries(flagBits).filter(([, bit]) => (Number(flags) & bit) > 0);
      const words = [...names.map(([name]) => name), ...(isCovered ? [] : ['uncovered'])];
      return [hourOf(from), fromWh, hourOf(to), toWh, ...words].join(' ');
    })
    .join(', ');
}

/**
 * Readings are an hour, Wh, and the event with its energy. Lines are two points of an hour and Wh, with the
 * flag.
 */
const cases: Array<[name: string, readings: string, lines: string, options?: Options]> = [
  ['growth in a day', '10 100, 11 150', '10 100 11 150'],
  ['a fall in a day, and growth after it', '10 100, 11 95, 12 120', '10 100 11 100 jitter, 11 100 12 120'],
  ['a line over readings that are left out', '10 100, 11 150', '10 100 11 150 glitch', { skipped: 11 }],
  ['a reset in a day', '10 100, 11 20 reset 15', '10 5 11 20 reset'],
  ['growth after a reset', '10 100, 11 20 reset 15, 12 30', '10 5 11 20 reset, 11 20 12 30'],
  ['a reading after one over readings that are left out', '10 100, 12 150', '10 100 12 150', { skipped: 11 }],
  ['growth in a day after a silence', '10 100, 12 300', '10 100 12 300'],
  [
    'growth over midnight after a fall',
    '22.75 500, 23.5 495, 24.5 600',
    '22.75 500 23.5 500 jitter, 23.5 495 24.5 600',
  ],
  ['a rebase in a day', '10 100, 11 20 rebase 0', '10 20 11 20 rebase uncovered'],
  ['a restart at midnight', '23 500, 25 300', '24 0 25 300'],
  ['a restart at midnight, with all that is possible', '23 2000, 25 1010', '24 0 25 1010'],
  ['more than is possible since midnight', '23 2000, 25 1011', '23 1011 25 1011 rebase uncovered'],
  [
    'a restart at midnight, with all that a learnt limit allows',
    '23 500, 25 410',
    '24 0 25 410',
    { maxPower: null },
  ],
  [
    'more than a learnt limit allows after a restart',
    '23 500, 25 411',
    '23 411 25 411 rebase uncovered',
    { maxPower: null },
  ],
  [
    'growth over midnight, by the learnt limit',
    '23.5 500, 24.5 1510',
    '23.5 500 24.5 1510',
    { maxPower: null },
  ],
  ['growth over midnight', '23.5 500, 24.5 1510', '23.5 500 24.5 1510'],
  [
    'more growth over midnight than is possible',
    '23.5 500, 24.5 1511',
    '23.5 1511 24.5 1511 rebase uncovered',
  ],
  ['a rise over midnight after an hour', '23.5 500, 24.5 505', '23.5 500 24.5 505'],
  ['a rise over midnight after a silence, possible since midnight', '23.25 500, 24.5 510', '24 0 24.5 510'],
  ['a rise over midnight after a silence, not possible since', '23.25 500, 24.5 511', '23.25 500 24.5 511'],
  ['the same value over midnight', '23 500, 25 500', '23 500 24 500, 24 500 25 500 carry_over uncovered'],
  [
    'the same value twice',
    '23 500, 25 500, 26 500',
    '23 500 24 500, 24 500 25 500 carry_over uncovered, 25 500 26 500 carry_over uncovered',
  ],
  ['zero over midnight', '23 0, 25 0', '23 0 24 0, 24 0 25 0'],
  [
    'the same value, then a reset',
    '23 500, 25 500, 26 20 reset 15',
    '23 500 24 500, 24 500 25 500 carry_over, 25 5 26 20',
  ],
  [
    'the same value, then another event',
    '23 500, 25 500, 26 20 rollover 15',
    '23 500 24 500, 24 500 25 500 carry_over, 25 5 26 20 rollover',
  ],
  [
    'the same value, then growth within an hour',
    '23 500, 25 500, 26 600',
    '23 500 24 500, 24 500 25 500 carry_over, 25 500 26 600',
  ],
  [
    'the same value, then possible growth after a silence',
    '23 500, 25 500, 27 2010',
    '23 500 24 500, 24 500 25 500 carry_over, 25 0 27 2010',
  ],
  [
    'the same value, then more than is possible',
    '23 500, 25 500, 27 2011',
    '23 500 24 500, 24 500 25 500 carry_over, 25 500 27 2011',
  ],
  [
    'the same value, then growth, then a restart',
    '23 500, 25 500, 27 600',
    '23 500 24 500, 24 500 25 500 carry_over, 25 500 27 600',
    { restarts: [28] },
  ],
  [
    'the same value, then a fall',
    '23 500, 25 500, 27 495',
    '23 500 24 500, 24 500 25 500 carry_over, 25 500 27 500 jitter',
  ],
  [
    'the same value again after growth',
    '23 500, 25 500, 26 600, 27 500',
    '23 500 24 500, 24 500 25 500 carry_over, 25 500 26 600, 26 600 27 600 jitter',
  ],
  ['the value of the evening, reached again', '23 500, 25 300, 26 500', '24 0 25 300, 25 300 26 500'],
  [
    'a fall within the jitter, before a restart',
    '23 500, 25 490',
    '23 490 25 490 jitter',
    { restarts: [26] },
  ],
  ['a fall beyond the jitter, before a restart', '23 500, 25 489', '24 0 25 489', { restarts: [26] }],
  ['a fall within the jitter, without a restart', '23 500, 25 490', '24 0 25 490'],
  ['a fall to the jitter, before a restart', '23 15, 25 10', '23 10 25 10 jitter', { restarts: [26] }],
  ['a fall to less than the jitter', '23 15, 25 9', '24 0 25 9', { restarts: [26] }],
  ['a fall below a small value', '23 5, 25 4', '24 0 25 4', { restarts: [26] }],
  ['a rise from a small value, before a restart', '23 5, 25 6', '23 5 25 6', { restarts: [26] }],
  ['a restart a day later', '23 500, 25 490', '23 490 25 490 jitter', { restarts: [47] }],
  ['a restart more than a day later', '23 500, 25 490', '24 0 25 490', { restarts: [47.25] }],
  [
    'two restarts, the first within a day',
    '23 500, 25 490',
    '23 490 25 490 jitter',
    { restarts: [47.25, 26] },
  ],
  ['a restart of the day before', '23 500, 25 490', '24 0 25 490', { restarts: [22] }],
  ['a rise to twice the value, before a restart', '22 500, 25 1000', '22 500 25 1000', { restarts: [26] }],
  ['a rise to more than twice the value', '22 500, 25 1001', '24 0 25 1001', { restarts: [26] }],
  [
    'all growth that is possible, before a restart',
    '22 3010, 25 6020',
    '22 3010 25 6020',
    { restarts: [26] },
  ],
  [
    'more growth than is possible, before a restart',
    '22 3011, 25 6022',
    '22 6022 25 6022 rebase uncovered',
    { restarts: [26] },
  ],
  ['the first reading of the series', '10 100', '0 0 10 100', { first: 10 }],
  ['a reading that is the first one in scope only', '10 100', '', { first: 9 }],
  ['a first reading of zero', '10 0', '', { first: 10 }],
  ['a first reading at midnight', '24 5', '', { first: 24 }],
  ['a first reading with all that is possible', '10 10010', '0 0 10 10010', { first: 10 }],
  ['a first reading with more', '10 10011', '', { first: 10 }],
  ['a first reading with more than a learnt limit allows', '34 4011', '', { first: 34, maxPower: null }],
  ['a first reading before a reset', '10 100, 11 20 reset 15', '10 5 11 20 reset', { first: 10 }],
  [
    'a first reading before a reset of the next day',
    '22 100, 25 90, 26 20 reset 15',
    '0 0 22 100, 24 0 25 90, 25 5 26 20 reset',
    { first: 22 },
  ],
];
test.each(cases)('the lines of %s', async (_name, readings, lines, options) => {
  expect(await linesOf(readings, options)).toBe(lines);
});

test('the mark before a line is the reading before, and zero before the first reading', async () => {
  const found = await readLines('10 100, 11 95, 12 120, 23 500, 25 500', { first: 10 });
  expect(found.map((row) => row.at(-1))).toEqual([0, 100, 95, 120, 500, 500]);
});
