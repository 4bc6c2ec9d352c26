import { expect, test } from 'vitest';
import { eventText } from '../../src/explain/explain-readings.ts';
import type { Line } from '../../src/explain/explain-register.ts';
import { annotateReadings } from '../../src/explain/explain-source.ts';
import { timeOfDayFormat } from '../../src/explain/explain-words.ts';
import { lineFlagBits } from '../../src/explain/explained-day.ts';
import type { Event, ExplainedReading } from '../../src/explain/explained-schema.ts';
import { correctionText } from '../../src/explain/read-corrections.ts';
import { HOUR_MS } from '../../src/lib/time.ts';

const startMs = Date.UTC(2026, 10, 20);
const hour = (count: number) => startMs + count * HOUR_MS;
const clock = timeOfDayFormat('2026-11-20', 'Etc/UTC');

const event = {
  ...{ from_ms: hour(1), to_ms: hour(2), value_before: 1_000, value_after: 20, energy_wh: 1_500 },
};
const step = 'between 01:00:00 and 02:00:00 from 1,000 to 20 Wh';

test.each<[kind: Event['kind'], text: string]>([
  ['reset', `started again ${step}: what it shows since then counts, 1,500 Wh`],
  ['rollover', `passed its modulus ${step}: 1,500 Wh are booked`],
  ['register_change', `was changed, as declared, ${step}: 1,500 Wh are booked`],
  ['rebase', `jumped impossibly ${step} and stayed: nothing is booked`],
  ['glitch', 'low from 01:00:00 to 02:00:00 (20 Wh after 1,000 Wh) and no restart: left out'],
  ['spike', 'impossibly high from 01:00:00 to 02:00:00 (20 Wh after 1,000 Wh): left out'],
  [
    'standstill',
    'stood still from 01:00:00 to 02:00:00 at 1,000 Wh and then showed 20 Wh, which it can have counted in that time: spread over it',
  ],
])('the event %s is told with its values', (kind, text) => {
  expect(eventText({ ...event, kind }, clock, 'Wh')).toBe(text);
});

test('an event of one instant has one time, and a value that is not known is a question mark', () => {
  const spike = { ...event, kind: 'spike' as const, to_ms: hour(1), value_before: null };
  expect(eventText(spike, clock, 'W')).toBe('impossibly high at 01:00:00 (20 W after ? W): left out');
});

type CorrectionRow = Parameters<typeof correctionText>[0];
const row: CorrectionRow = {
  ...{ correction_id: 7, kind: 'set', from_ms: hour(1), to_ms: hour(2), table_name: null, field: null },
  ...{ day: null, energy_wh: 1_500, undoes: null, undone_by: null, reason: 'why', author: 'ann' },
  ...{ created_at_ms: 0, has_changed: true, before_wh: 1_000, after_wh: 2_500 },
};
const change = 'the day was 1,000 Wh without it, and 2,500 Wh with it';

test.each<[text: string, more: Partial<CorrectionRow>]>([
  [`1,500 Wh are set from 01:00:00 to 02:00:00; ${change}`, {}],
  [`1,500 Wh are set for 2026-11-20; ${change}`, { kind: 'set_day', day: '2026-11-20' }],
  [`1,500 Wh are estimated from 01:00:00 to 02:00:00; ${change}`, { kind: 'fill' }],
  [`readings from 01:00:00 to 02:00:00 are excluded; ${change}`, { kind: 'exclude', energy_wh: null }],
  [
    `readings of solar.total from 01:00:00 to 02:00:00 are excluded; ${change}`,
    { kind: 'exclude', energy_wh: null, table_name: 'solar', field: 'total' },
  ],
  [
    'correction 3 is undone; the day was 1,000 Wh before, and 2,500 Wh after',
    { kind: 'undo', undoes: 3, energy_wh: null },
  ],
  [
    '1,500 Wh are set from 01:00:00 to 02:00:00; the day was no energy without it, and 2,500 Wh with it (undone by 9)',
    { before_wh: null, undone_by: 9 },
  ],
  ['1,500 Wh are set from 01:00:00 to 02:00:00; the day stayed at 2,500 Wh', { before_wh: 2_500 }],
  ['1,500 Wh are set from 01:00:00 to 02:00:00; the day did not change', { has_changed: false }],
])('a correction: %s', (text, more) => {
  expect(correctionText({ ...row, ...more }, clock)).toBe(text);
});

test('a reading of a register has a note if the index does not use it as it is', () => {
  const reading = (atHour: number, value: number | null, fate: ExplainedReading['fate'] = 'used') =>
    ({
      time: new Date(hour(atHour)).toISOString(),
      value,
      fate,
      reason: null,
      indexWh: null,
    }) as ExplainedReading;
  const line = (begin: [number, number], end: [number, number], flags = 0, covered = true) =>
    ({
      ...{ begin_ms: hour(begin[0]), begin_wh: begin[1], end_ms: hour(end[0]), end_wh: end[1] },
      ...{ flags, covered },
    }) as Line;
  const { jitter, carryOver } = lineFlagBits;
  const lines = [
    line([0, 12], [1, 20]),
    line([1, 20], [2, 20], jitter),
    line([2, 20], [3, 20], carryOver),
    line([3, 20], [4, 125]),
    // A new segment begins at hour 6, so its beginning is no held mark.
    line([6, 99], [7, 100], lineFlagBits.joined),
    line([8, 99], [9, 100], 0, false),
  ];
  const notes = (...readings: ExplainedReading[]) =>
    annotateReadings(readings, lines).map(({ reason, indexWh }) => [reason, indexWh]);
  // The first reading is below the mark at which the first line begins.
  expect(notes(reading(0, 10), reading(0, 12))).toEqual([
    ['jitter', 12],
    [null, null],
  ]);
  expect(notes(reading(1, 20), reading(2, 19), reading(3, 500), reading(4, 25))).toEqual([
    [null, null],
    ['jitter', 20],
    ['carry_over', 20],
    // It is in a later segment of the index.
    [null, 125],
  ]);
  expect(notes(reading(6, 5), reading(8, 5), reading(2, 19, 'glitch'), reading(2, null))).toEqual(
    Array(4).fill([null, null]),
  );
});
