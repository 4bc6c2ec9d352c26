import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statement of chapter 80 that sums days, over a few rows. Golden cases have whole days. */
const open = chapterTables();
const one = deviceOf(1);
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const RULE =
  'series_id INTEGER, stream_id INTEGER, position INTEGER, device UUID, source VARCHAR, method VARCHAR, net BOOLEAN, max_power_w DOUBLE, jitter_wh DOUBLE';

/** A method of day 1. Its energy is that of its first interval. */
interface Method {
  method?: string;
  wh?: number;
  coveredMs?: number;
  net?: boolean;
  jitter?: number | null;
  maxPower?: number | null;
  lastValue?: number | null;
}

/** Methods of day 1 by place. Each has one interval, and `more` are further intervals of the first one. */
async function candidatesOf(
  methods: readonly Method[],
  {
    more = [] as Array<{
      place: number;
      wh?: number;
      flags?: number;
      coveredMs?: number;
      lastValue?: number;
    }>,
    limits = [] as number[][],
  } = {},
) {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  await fill(
    'touched_day',
    'device, source, day, start_ms, end_ms',
    [one, 'a', '1970-01-02', DAY_MS, 2 * DAY_MS],
    [one, 'a', '1970-01-05', 4 * DAY_MS, 5 * DAY_MS],
    [one, 'b', '1970-01-05', 4 * DAY_MS, 5 * DAY_MS],
  );
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE, start_ms BIGINT, end_ms BIGINT',
    ...Array.from({ length: 288 }, (_, index) => [
      index,
      `1970-01-0${1 + Math.floor(index / 96)}`,
      Math.floor(index / 96) * DAY_MS,
      (1 + Math.floor(index / 96)) * DAY_MS,
    ]),
  );
  const inDay = (place: number) => DAY_MS + place * QUARTER_MS;
  for (const [
    place,
    {
      method = 'total_energy',
      wh = 0,
      coveredMs = DAY_MS,
      net = false,
      jitter = 2,
      maxPower = 1_000,
      lastValue = null,
    },
  ] of methods.entries()) {
    // Series and streams are numbered the other way round than the order of the workgroup.
    await fill('series_rule', RULE, [9 - place, 109 - place, place, one, 'a', method, net, maxPower, jitter]);
    await fill(
      'interval_energy',
      'series_id, interval_start_ms, energy_wh, covered_ms, last_value',
      [9 - place, inDay(10), wh, coveredMs, lastValue],
      [9 - place, DAY_MS - QUARTER_MS, 70, 5, null],
      [9 - place, 2 * DAY_MS, 80, 5, null],
    );
  }
  await fill(
    'interval_energy',
    'series_id, interval_start_ms, energy_wh, flags, covered_ms, last_value',
    ...more.map(({ place, wh = 0, flags = 0, coveredMs = 0, lastValue = null as number | null }) => [
      9,
      inDay(place),
      wh,
      flags,
      coveredMs,
      lastValue,
    ]),
  );
  await fill('series_day', 'series_id, utc_day, learnt_power_w, learnt_resolution', ...limits);
  await run('collect_candidates', { low_ms: BigInt(DAY_MS), high_ms: BigInt(2 * DAY_MS) });
  const found = await rows(
    'day_candidate',
    '9 - series_id AS place, energy_wh, covered_ms, flags, estimated, peak_wh, stands_still, tolerance_wh, limit_wh, coverage, preference',
  );
  const names = [
    'place',
    'wh',
    'coveredMs',
    'flags',
    'estimated',
    'peak',
    'still',
    'tolerance',
    'limit',
    'coverage',
    'preference',
  ];
  return found.map((row) => Object.fromEntries(row.map((cell, index) => [names[index]!, cell])));
}
/** The places of the methods, the chosen one first. */
async function orderOf(methods: readonly Method[]) {
  const found = await candidatesOf(methods);
  return found.toSorted((a, b) => Number(a.preference) - Number(b.preference)).map(({ place }) => place);
}

test('the intervals of a day are summed, without those of the days around it', async () => {
  const [found] = await candidatesOf([{ wh: 100, coveredMs: DAY_MS / 2 }], {
    more: [
      { place: 0, wh: 20, coveredMs: 1_000, flags: flagBits.reset },
      { place: 95, wh: 300, coveredMs: 2_000, flags: flagBits.spike },
    ],
  });
  expect(found).toMatchObject({
    wh: 420,
    coveredMs: DAY_MS / 2 + 3_000,
    flags: flagBits.reset | flagBits.spike,
    peak: 300,
    limit: 24_000,
    tolerance: 2,
    estimated: false,
    still: false,
  });
  expect(found!.coverage).toBeCloseTo(0.5 + 3_000 / DAY_MS);
});

test.each([
  ['begins in a silence', 0, flagBits.silence_start, true],
  ['begins at the end of a silence', 0, flagBits.silence_end, false],
  ['has a silence that begins later', 1, flagBits.silence_start, false],
  ['ends in a silence', 95, flagBits.silence_end, true],
  ['ends at the beginning of a silence', 95, flagBits.silence_start, false],
  ['has a silence that ends before', 94, flagBits.silence_end, false],
])('a day that %s is an estimate, or not', async (_name, place, flags, estimated) => {
  const [found] = await candidatesOf([{ wh: 100 }], { more: [{ place, flags: flags | flagBits.estimated }] });
  expect(found).toMatchObject({ estimated, flags: 0 });
});

test.each<[name: string, method: Method, isThere: boolean]>([
  ['energy', { wh: 5, coveredMs: 0 }, true],
  ['covered time', { wh: 0, coveredMs: 5 }, true],
  ['neither', { wh: 0, coveredMs: 0 }, false],
])('a method has a day with %s', async (_name, method, isThere) => {
  expect(await candidatesOf([method])).toHaveLength(isThere ? 1 : 0);
});

const resolutions = ruleConstants.jitter_resolutions.value;
test.each<[name: string, method: Method, limits: number[][], wanted: object]>([
  ['what is configured', { jitter: 3, maxPower: 500 }, [[9, 1, 700, 10]], { tolerance: 3, limit: 12_000 }],
  [
    'what was learnt of the day',
    { jitter: null, maxPower: null },
    [
      [9, 1, 700, 10],
      [9, 0, 1, 1],
      [9, 2, 1, 1],
      [8, 1, 1, 1],
    ],
    { tolerance: 10 * resolutions, limit: 16_800 },
  ],
  ['the step that divides its highest value', { jitter: null, lastValue: 1_200 }, [], { tolerance: 100 }],
  ['nothing, where there is no value', { jitter: null }, [], { tolerance: 0 }],
  ['nothing, where the value is zero', { jitter: null, lastValue: 0 }, [], { tolerance: 0 }],
])('a method may differ by its step, and count by its limit: %s', async (_name, method, limits, wanted) => {
  const more = method.lastValue ? [{ place: 5, lastValue: 1_000 }] : [];
  const [found] = await candidatesOf([{ wh: 5, ...method }], { limits, more });
  expect(found).toMatchObject(wanted);
});

test('a local day has the limits of the UTC day on which it ends', async () => {
  const { fill, run, rows } = await open();
  await run('create_empty_tables');
  const [startMs, endMs] = [DAY_MS - 4 * QUARTER_MS, 2 * DAY_MS - 4 * QUARTER_MS];
  await fill('touched_day', 'device, source, day, start_ms, end_ms', [
    one,
    'a',
    '1970-01-02',
    startMs,
    endMs,
  ]);
  await fill('interval_day', 'interval_index BIGINT, day DATE, start_ms BIGINT, end_ms BIGINT', [
    startMs / QUARTER_MS,
    '1970-01-02',
    startMs,
    endMs,
  ]);
  await fill('series_rule', RULE, [9, 1, 1, one, 'a', 'total_energy', false, null, 2]);
  await fill('interval_energy', 'series_id, interval_start_ms, energy_wh', [9, startMs, 5]);
  await fill('series_day', 'series_id, utc_day, learnt_power_w', [9, 0, 1], [9, 1, 700]);
  await run('collect_candidates', { low_ms: BigInt(startMs), high_ms: BigInt(endMs) });
  expect(await rows('day_candidate', 'limit_wh')).toEqual([[24 * 700]]);
});

const lessMs = ruleConstants.covering_share.value * DAY_MS;
/** What a working register may have missed in a day. */
const missedWh = ruleConstants.standing_power_w.value * 24;
const steps = ruleConstants.standing_steps_min.value;
const power = (wh: number, more: Partial<Method> = {}): Method => ({ method: 'power_curve', wh, ...more });
test.each<[name: string, methods: Method[], order: number[]]>([
  ['in the order of the workgroup', [{ wh: 5 }, { wh: 6 }, power(7)], [0, 1, 2]],
  [
    'those that cover too little come later',
    [{ wh: 5, coveredMs: DAY_MS - lessMs - 1 }, { wh: 6 }, power(7)],
    [1, 2, 0],
  ],
  ['a little less is not too little', [{ wh: 5, coveredMs: DAY_MS - lessMs }, { wh: 6 }], [0, 1]],
  [
    'a register that stands still comes last, even behind one that covers too little',
    [{}, { wh: missedWh + 1, coveredMs: 5 }, power(1)],
    [2, 1, 0],
  ],
  ['no other method has measured more than it may have missed', [{}, power(missedWh), power(1)], [0, 1, 2]],
  [
    'a register with large steps may have missed more',
    [{ jitter: missedWh }, power(steps * missedWh)],
    [0, 1],
  ],
  ['but not more than its steps', [{ jitter: missedWh }, power(steps * missedWh + 1)], [1, 0]],
  ['a net register does not stand still', [{ net: true }, power(missedWh + 1)], [0, 1]],
  ['power of zero does not stand still', [power(0), { wh: missedWh + 1 }], [0, 1]],
  ['a daily register stands still', [{ method: 'daily_energy' }, power(missedWh + 1)], [1, 0]],
])('methods are ranked: %s', async (_name, methods, order) => {
  expect(await orderOf(methods)).toEqual(order);
});
