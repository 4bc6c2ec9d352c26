import { expect, test } from 'vitest';
import { describeOutcome } from '../../src/explain/explain-day.ts';
import { DAY_MS } from '../../src/lib/time.ts';

const startMs = Date.UTC(2026, 10, 20);
const source = { source: 'roof', result: { energyWh: 1_500 } } as never;
const silent = { source: 'roof', result: null } as never;
type Facts = Parameters<typeof describeOutcome>[0];
const facts: Facts = {
  date: '2026-11-20',
  timezone: 'Etc/UTC',
  day: { day: '2026-11-20', startMs, endMs: startMs + DAY_MS, clock: String },
  nowMs: startMs + DAY_MS,
  allSeries: [{ source: 'roof' }, { source: 'shed' }, { source: 'roof' }] as never,
  source: undefined,
  sources: [source],
  addedSources: [source],
  wholeDevice: { text: 'the device is its only source' } as never,
  energyWh: 1_500,
};
const running = { nowMs: startMs + DAY_MS - 1 };

test.each<[outcome: string, text: string, more: Partial<Facts>]>([
  ['explained', '1,500 Wh', {}],
  ['explained', '1,500 Wh, from 2 sources', { addedSources: [source, source] }],
  ['explained', '1,500 Wh, and the day is not over', running],
  ['explained', '0 Wh', { energyWh: 0 }],
  ['explained', 'there are readings, but no energy', { energyWh: null, sources: [silent] }],
  [
    'explained',
    'there are readings, but no energy, and the day is not over',
    { energyWh: null, sources: [silent], ...running },
  ],
  [
    'explained',
    'incomplete: the device is its only source, and of that there is no energy on this day; what other sources have is not added up',
    { energyWh: null },
  ],
  ['no_readings', '2026-11-20 has no readings and no energy', { sources: [] }],
  ['future', '2026-11-20 has not begun in Etc/UTC', { nowMs: startMs - 1, sources: [] }],
  // It has just begun.
  ['no_readings', '2026-11-20 has no readings and no energy', { nowMs: startMs, sources: [] }],
  [
    'no_day',
    'Pacific/Apia skipped 2011-12-30: this day did not exist',
    {
      ...{ date: '2011-12-30', timezone: 'Pacific/Apia' },
      day: { day: '2011-12-30', startMs, endMs: startMs, clock: String },
    },
  ],
  [
    'unknown_source',
    'the device has no readings of a source "roofs"; it has roof, shed',
    { source: 'roofs', sources: [] },
  ],
  [
    'unknown_device',
    'none of the configured energy streams has a reading of this device',
    { allSeries: [], source: 'roofs', sources: [] },
  ],
])('%s: %s', (outcome, text, more) => {
  expect(describeOutcome({ ...facts, ...more })).toEqual({ outcome, text });
});
