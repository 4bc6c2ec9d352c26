import { expect, test } from 'vitest';
import { openWithMacros } from '../rollup/chapter-tables.ts';
import { deviceId } from '../support/messages.ts';
import { statementTables } from '../support/statement-tables.ts';

/** The statements of chapter 30 of explanations, each over a few rows. */
const open = statementTables(openWithMacros);
const [own, other] = [deviceId(1), deviceId(2)];
const READING = 'series_id, event_time_ms, value, batch_id, stream_offset';
const EVENT = 'series_id, from_ms, to_ms, kind, value_before, value_after, energy_wh';
const REJECTED = 'day_start_ms, first_ms, last_ms, device, source, field, reason, samples';

/** A reading of series 1 in its batch 1. Its value is its time. */
const at = (ms: number, value = ms) => [1, ms, value, 1, ms];
const eventOf = (series: number, kind: string, from: number, to: number) => [series, from, to, kind, 0, 0, 0];

test('the bracket of a day is from the last used reading until its start to the first one from its end on', async () => {
  const bracketOf = async (times: number[], { first = 0, last = 99, left = [0, 0] } = {}) => {
    const { fill, run } = await open();
    await fill('scope', 'series_id INTEGER, first_ms BIGINT, last_ms BIGINT', [1, first, last], [2, 0, 99]);
    await fill('reading', READING, ...times.map((ms) => at(ms)), [2, 19, 0, 1, 1], [2, 31, 0, 1, 1]);
    await fill('energy_event', EVENT, eventOf(1, 'spike', left[0]!, left[1]!), eventOf(2, 'spike', 0, 99));
    await fill('energy_event', EVENT, eventOf(1, 'reset', 0, 99));
    const [row] = await run('explain/find_bracket', { series_id: 1, start_ms: 20n, end_ms: 30n });
    return [row!.low_ms, row!.high_ms];
  };
  expect(await bracketOf([10, 20, 25, 30, 40])).toEqual([20, 30]);
  expect(await bracketOf([10, 18, 25, 33, 40])).toEqual([18, 33]);
  expect(await bracketOf([10, 18, 33, 40], { left: [18, 33] })).toEqual([10, 40]);
  expect(await bracketOf([10, 18, 33, 40], { first: 18, last: 33 })).toEqual([18, 33]);
  expect(await bracketOf([10, 18, 33, 40], { first: 19, last: 32 })).toEqual([null, null]);
});

async function readingsOf(
  fill: Record<string, [columns: string, ...rows: Array<string | unknown[]>]>,
  more = {},
) {
  const { fill: add, run } = await open();
  for (const [table, [columns, ...rows]] of Object.entries(fill))
    await add(table, columns, ...(rows as string[]));
  const parameters = { series_id: 1, device: own, source: 'pv', field: 'wh', low_ms: 10n, high_ms: 90n };
  return run('explain/find_readings', { ...parameters, rows_max: 100, ...more });
}
const shown = (rows: Array<Record<string, unknown>>) =>
  rows.map(({ event_time_ms, value, fate }) => [event_time_ms, value, fate]);

test('each received reading has its fate', async () => {
  const rows = await readingsOf({
    reading: [READING, at(9), at(10), at(30), at(31), at(50), at(90), at(91), [2, 40, 7, 1, 1]],
    energy_event: [
      EVENT,
      eventOf(1, 'glitch', 30, 30),
      eventOf(1, 'rebase', 50, 50),
      eventOf(2, 'spike', 0, 99),
      eventOf(1, 'standstill', 90, 95),
    ],
    excluded_reading: [READING, at(60), [2, 61, 1, 1, 1]],
    superseded_reading: [READING, [1, 50, 50, 2, 1], [1, 60, 7, 1, 2], [2, 50, 1, 1, 1], [1, 70, 1, 1, 1]],
    batch: ['batch_id, landed_at_ms', [1, 500]],
  });
  expect(shown(rows)).toEqual([
    [10, 10, 'used'],
    [30, 30, 'glitch'],
    [31, 31, 'used'],
    [50, 50, 'repeated'],
    [50, 50, 'used'],
    [60, 7, 'revised'],
    [60, 60, 'excluded'],
    [90, 90, 'standstill'],
  ]);
  expect(rows.map(({ readings }) => readings)).toEqual(Array(8).fill(8));
  // A batch that is no longer in the ledger has no time of landing.
  expect(rows.map(({ landed_at_ms }) => landed_at_ms)).toEqual([500, 500, 500, null, 500, 500, 500, 500]);
});

test('rejected readings are shown with their reason and value, of the device, the field and perhaps the source', async () => {
  const rejected = (device: string, source: string, field: string, reason: string, ms: number) =>
    `0, 20, 40, '${device}', '${source}', '${field}', '${reason}', [row(${ms}, 1, 1, 'x${ms}')]`;
  const tables = {
    rejected_reading: [
      REJECTED,
      rejected(own, 'pv', 'wh', 'negative', 20),
      rejected(own, 'pv', 'wh', 'text', 9),
      rejected(own, 'load', 'wh', 'future', 40),
      rejected(own, 'pv', 'w', 'negative', 30),
      rejected(other, 'pv', 'wh', 'negative', 30),
    ] as [string, ...string[]],
  };
  const factsOf = async (more = {}) =>
    (await readingsOf(tables, more)).map(({ event_time_ms, fate, reason, detail }) => [
      event_time_ms,
      fate,
      reason,
      detail,
    ]);
  expect(await factsOf()).toEqual([[20, 'rejected', 'negative', 'x20']]);
  expect(await factsOf({ source: null })).toEqual([
    [20, 'rejected', 'negative', 'x20'],
    [40, 'rejected', 'future', 'x40'],
  ]);
  expect(await factsOf({ low_ms: 41n })).toEqual([]);
  expect(await factsOf({ high_ms: 19n })).toEqual([]);
});

test('of many readings both ends remain, and those that are not used', async () => {
  const times = Array.from({ length: 20 }, (_, index) => 20 + index);
  const rows = await readingsOf(
    {
      reading: [READING, ...times.map((ms) => at(ms))],
      superseded_reading: [READING, [1, 30, 30, 1, 1], [1, 31, 0, 1, 1]],
    },
    { rows_max: 4 },
  );
  expect(shown(rows)).toEqual([
    [20, 20, 'used'],
    [21, 21, 'used'],
    [31, 0, 'revised'],
    [38, 38, 'used'],
    [39, 39, 'used'],
  ]);
  expect(rows[0]!.readings).toBe(22);
});

test('the events of a register are those that reach into the time, in their order', async () => {
  const { fill, run } = await open();
  const events: Array<[kind: string, from: number, to: number]> = [
    ['before', 1, 9],
    ['into', 1, 10],
    ['later', 15, 20],
    ['around', 1, 20],
    ['out of', 20, 99],
    ['after', 21, 30],
  ];
  await fill(
    'energy_event',
    EVENT,
    ...events.toReversed().map(([kind, from, to]) => eventOf(1, kind, from, to)),
  );
  await fill('energy_event', EVENT, eventOf(2, 'of another series', 10, 20));
  const rows = await run('explain/find_events', { series_id: 1, low_ms: 10n, high_ms: 20n });
  expect(rows.map(({ kind }) => kind)).toEqual(['into', 'around', 'later', 'out of']);
});
