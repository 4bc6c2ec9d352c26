import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 64, each over a few rows. Golden cases have whole days. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const SILENCE_MS = ruleConstants.silence_ms.value;
const RULE =
  'series_id INTEGER, position INTEGER, device UUID, source VARCHAR, method VARCHAR, net BOOLEAN, within_day BOOLEAN, jitter_wh DOUBLE';
const LINE =
  'series_id INTEGER, from_ms BIGINT, from_wh DOUBLE, to_ms BIGINT, to_wh DOUBLE, covered BOOLEAN, flags USMALLINT, mark_before DOUBLE';

/** A register that grew by 1200 Wh in a silence of 12 quarters, and energy of power beside it by quarter. */
async function shapeOf(
  powerWh: Record<number, number>,
  {
    net = false,
    withinDay = false,
    power = 'power_curve',
    source = 'a',
    device = one,
    toMs = 12 * QUARTER_MS,
    grownWh = 1_200,
    knownMs = QUARTER_MS,
    full = false,
  } = {},
) {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 9, one, 'a', 'total_energy', net, withinDay, null],
    [2, 8, device, source, power, false, false, null],
    [3, 7, device, source, power, false, false, null],
  );
  // A plain register is read from its pairs, any other one from its lines.
  await fill('needs_full_index', 'series_id INTEGER', ...(full ? [[1]] : []));
  await fill(
    'reading_pair',
    'series_id INTEGER, from_ms BIGINT, to_ms BIGINT, from_value DOUBLE, to_value DOUBLE',
    [1, 0, toMs, 50, 50 + grownWh],
  );
  await fill('index_line', LINE, ...(full ? [[1, 0, 0, toMs, grownWh, true, 0, null]] : []));
  const quarters = Array.from({ length: 14 }, (_, place) => place);
  await fill(
    'interval_energy',
    'series_id, interval_start_ms, exact_nwh, covered_ms',
    ...quarters.map((place) => [3, place * QUARTER_MS, (powerWh[place] ?? 0) * 1e9, knownMs]),
    // The second power of the configuration, although its series is older, is not asked.
    ...quarters.map((place) => [2, place * QUARTER_MS, 5e9, QUARTER_MS]),
  );
  await run('collect_silence_shape', { low_ms: 0n, high_ms: BigInt(DAY_MS) });
  const shares = await rows('silence_shape', 'interval_index, round(share, 6)');
  return Object.fromEntries(shares.map(([index, share]) => [String(index), share]));
}
const untilFour = { 1: 0, 2: 0, 3: 0, 4: 0 };
const halves = { ...untilFour, 5: 0.25, 6: 0.25, 7: 0.25, 8: 0.25, 9: 1, 10: 1, 11: 1, 12: 1 };

test.each<[name: string, parameters: Parameters<typeof shapeOf>, shape: Record<string, number>]>([
  ['of the first power', [{ 4: 100, 8: 300 }], halves],
  ['of lines, if the register does not only grow', [{ 4: 100, 8: 300 }, { full: true }], halves],
  ['without power that flows back', [{ 4: 100, 6: -500, 8: 300 }], halves],
  ['without power after the silence', [{ 4: 100, 8: 300, 12: 700 }], halves],
  // Power knows half of each quarter and explains 600 of 1200 Wh. The unknown half of the time gets the rest.
  [
    'of power that knows half of the time',
    [{ 4: 600 }, { knownMs: QUARTER_MS / 2 }],
    Object.fromEntries(
      Array.from({ length: 12 }, (_, place) => [
        place + 1,
        Number(((place + 1) / 24 + (place >= 4 ? 0.5 : 0)).toFixed(6)),
      ]),
    ),
  ],
  // It explains all of the growth, so the unknown time gets nothing.
  [
    'of power that explains all',
    [{ 4: 1_300 }, { knownMs: QUARTER_MS / 2 }],
    { ...untilFour, ...Object.fromEntries([5, 6, 7, 8, 9, 10, 11, 12].map((index) => [index, 1])) },
  ],
  ['of power of zero', [{}], {}],
  ['of a net register', [{ 4: 100 }, { net: true }], {}],
  ['of a register that counts within a day', [{ 4: 100 }, { withinDay: true }], {}],
  ['beside interval readings', [{ 4: 100 }, { power: 'interval_energy' }], {}],
  ['beside power of another source', [{ 4: 100 }, { source: 'b' }], {}],
  ['beside power of another device', [{ 4: 100 }, { device: two }], {}],
  ['of two hours', [{ 4: 100 }, { toMs: SILENCE_MS }], {}],
  ['of two hours, by lines', [{ 4: 100 }, { toMs: SILENCE_MS, full: true }], {}],
  ['without growth', [{ 4: 100 }, { grownWh: 0 }], {}],
  ['without growth, by lines', [{ 4: 100 }, { grownWh: 0, full: true }], {}],
])('the shape of a silence %s', async (_name, parameters, shape) => {
  expect(await shapeOf(...parameters)).toEqual(shape);
});

/** A lifetime register grows by 900 in a silence around midnight. A daily register is read at both ends. */
async function anchorOf({
  before = 8_000,
  after = 400,
  fromMs = DAY_MS - SILENCE_MS,
  toMs = DAY_MS + SILENCE_MS,
  event = 'none',
  method = 'daily_energy',
  source = 'a',
  grownWh = 900,
} = {}) {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 0, one, 'a', 'total_energy', false, false, 2],
    [2, 1, one, source, method, false, false, 3],
  );
  await run('create_empty_tables');
  await fill(
    'index_line',
    LINE,
    [1, fromMs, 1_000, toMs, 1_000 + grownWh, true, 4, 950],
    [1, toMs, 1_900, toMs + 5, 1_950, true, 8, 1_900],
  );
  await fill('reading', 'series_id, event_time_ms, value', [2, fromMs, before], [2, toMs, after]);
  await fill('energy_event', 'series_id, kind, from_ms, to_ms', [2, event, toMs, toMs]);
  await fill(
    'interval_day',
    'interval_index BIGINT, start_ms BIGINT',
    ...Array.from({ length: 192 }, (_, index) => [index, index < 96 ? 0 : DAY_MS]),
  );
  await run('collect_midnight_anchors', { low_ms: 0n, high_ms: BigInt(2 * DAY_MS) });
  await run('drop_lines_over_midnight');
  await run('add_lines_at_midnight');
  return rows('index_line', 'from_ms, from_wh, to_ms, to_wh, covered, flags, mark_before');
}
const FROM_MS = DAY_MS - SILENCE_MS;
const TO_MS = DAY_MS + SILENCE_MS;
const last = [TO_MS, 1_900, TO_MS + 5, 1_950, true, 8, 1_900];
/** Both parts of the line, with the value at midnight. */
const cutAt = (wh: number, isEstimated: boolean) => [
  [FROM_MS, 1_000, DAY_MS, wh, true, isEstimated ? 4 | flagBits.estimated | flagBits.silence_end : 4, 950],
  [DAY_MS, wh, TO_MS, 1_900, true, isEstimated ? 4 | flagBits.estimated | flagBits.silence_start : 4, wh],
  last,
];

test.each<[name: string, options: Parameters<typeof anchorOf>[0], lines: unknown[][]]>([
  ['an estimate, if growth before midnight is known from one register alone', {}, cutAt(1_500, true)],
  ['certain within the jitter of both', { after: 895 }, cutAt(1_005, false)],
  [
    'certain within the jitter of both, as floating-point numbers are',
    { after: 895 - 1e-9 },
    cutAt(1_005 + 1e-9, false),
  ],
  ['an estimate beyond the jitter', { after: 894 }, cutAt(1_006, true)],
  ['certain, and not below the value before', { after: 905 }, cutAt(1_000, false)],
  ['an estimate, and not below the value before', { after: 906 }, cutAt(1_000, true)],
  ['read although there is an event that leaves nothing out', { event: 'reset' }, cutAt(1_500, true)],
])('the value at midnight in a silence is %s', async (_name, options, lines) => {
  const found = await anchorOf(options);
  expect(
    found.map((row) => row.map((cell) => (typeof cell === 'number' ? Math.round(cell * 1e6) / 1e6 : cell))),
  ).toEqual(
    lines.map((row) => row.map((cell) => (typeof cell === 'number' ? Math.round(cell * 1e6) / 1e6 : cell))),
  );
});

test.each<[name: string, options: Parameters<typeof anchorOf>[0]]>([
  ['still shows the value before', { after: 8_000 }],
  ['is left out there', { event: 'spike' }],
  ['is no daily register', { method: 'power_curve' }],
  ['is of another source', { source: 'b' }],
  ['is read after two hours', { fromMs: DAY_MS - SILENCE_MS / 2, toMs: DAY_MS + SILENCE_MS / 2 }],
  ['is read at midnight before', { fromMs: DAY_MS, toMs: DAY_MS + 2 * SILENCE_MS }],
  ['is read at midnight after', { fromMs: DAY_MS - 2 * SILENCE_MS, toMs: DAY_MS }],
  ['is beside a register that stands still', { grownWh: 0 }],
])('a silence is not cut at midnight by a register that %s', async (_name, options) => {
  expect(await anchorOf(options)).toHaveLength(2);
});
