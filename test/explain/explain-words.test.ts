import { describe, expect, test } from 'vitest';
import { coverageText, uncoveredSpans } from '../../src/explain/explain-coverage.ts';
import { flagsOf } from '../../src/explain/explain-flags.ts';
import {
  listOf,
  nearestText,
  plainDuration,
  plainNumber,
  timeOfDayFormat,
} from '../../src/explain/explain-words.ts';
import type { Day } from '../../src/explain/explained-day.ts';
import type { Boundary, ExplainedCorrection } from '../../src/explain/explained-schema.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';

const startMs = Date.UTC(2026, 10, 20);
const day: Day = {
  day: '2026-11-20',
  startMs,
  endMs: startMs + DAY_MS,
  clock: timeOfDayFormat('2026-11-20', 'UTC'),
};
const span = (fromHour: number, toHour: number) => ({
  fromMs: startMs + fromHour * HOUR_MS,
  toMs: startMs + toHour * HOUR_MS,
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [61_000, '1 min 1 s'],
  [2 * HOUR_MS, '2 h'],
  [DAY_MS + 2 * HOUR_MS + 5 * MINUTE_MS, '1 d 2 h'],
  [DAY_MS + 5 * MINUTE_MS, '1 d'],
])('%d ms are "%s"', (ms, text) => expect(plainDuration(ms)).toBe(text));

test('numbers and lists are written for people', () => {
  expect([plainNumber(1_234_567.1234567), plainNumber(0.5)]).toEqual(['1,234,567.123457', '0.5']);
  expect([listOf([]), listOf(['a']), listOf(['a', 'b', 'c'])]).toEqual(['', 'a', 'a, b and c']);
  expect(nearestText({ before: 'x', after: null })).toBe('the last day with energy before it is x');
  expect(nearestText({ before: null, after: 'y' })).toBe('the next day with energy is y');
  expect(nearestText({ before: null, after: null })).toBe('');
});

test('a time has its date on another day, and its offset on a day with a change of the clock', () => {
  expect(day.clock(startMs + 12 * HOUR_MS)).toBe('12:00:00');
  expect(day.clock(startMs - HOUR_MS)).toBe('2026-11-19 23:00:00');
  const changed = timeOfDayFormat('2026-10-25', 'Europe/Paris');
  const nightMs = Date.parse('2026-10-25T00:30:00Z');
  expect([changed(nightMs), changed(nightMs + HOUR_MS)]).toEqual(['02:30:00+02:00', '02:30:00+01:00']);
});

describe('the time that measurements do not cover', () => {
  test('lies before, between and after the spans, which can overlap', () => {
    expect(uncoveredSpans([span(-2, -1), span(1, 8), span(2, 4), span(10, 12)], day)).toEqual([
      span(0, 1),
      span(8, 10),
      span(12, 24),
    ]);
    expect(uncoveredSpans([span(-1, 25)], day)).toEqual([]);
    expect(uncoveredSpans([span(0, 24)], day)).toEqual([]);
    expect(uncoveredSpans([], day)).toEqual([span(0, 24)]);
  });

  test('is named, the first eight parts of it', () => {
    expect(coverageText(DAY_MS, [], day)).toBe('measurements cover all of the day');
    expect(coverageText(21 * HOUR_MS, [span(0, 1), span(8, 10)], day)).toBe(
      'measurements cover 21 h of 24 h; not 00:00:00 to 01:00:00, 08:00:00 to 10:00:00',
    );
    const parts = Array.from({ length: 10 }, (_, index) => span(2 * index, 2 * index + 1));
    expect(coverageText(14 * HOUR_MS, parts, day)).toMatch(/, 14:00:00 to 15:00:00 and 2 more stretches$/);
    expect(coverageText(15 * HOUR_MS, parts.slice(0, 9), day)).toMatch(/15:00:00 and 1 more stretch$/);
  });
});

describe('the reason of a flag', () => {
  const correction = (id: number, kind: string, undoneBy: number | null = null) =>
    ({
      id,
      kind,
      undoneBy,
      reason: `reason ${id}`,
      from: `from ${id}`,
      to: `to ${id}`,
    }) as ExplainedCorrection;
  const reasonOf = (flag: string, facts: Partial<Parameters<typeof flagsOf>[2]>) => {
    const nothing = { events: [], boundaries: [], uncovered: [], coverage: '', missing: [] };
    const [found] = flagsOf([flag], new Map([[flag, 'its meaning']]), {
      ...{ ...nothing, contradictions: [], methods: [], corrections: [] },
      ...facts,
    });
    expect(found).toMatchObject({ flag, meaning: 'its meaning' });
    return { reason: found!.reason, spans: found!.spans };
  };

  test('estimated: a boundary in a silence of more than two hours, and estimates that are in force', () => {
    const boundary = (hours: number) =>
      ({
        time: '2026-11-20T00:00:00Z',
        before: { time: '2026-11-19T23:00:00Z' },
        after: { time: new Date(startMs + (hours - 1) * HOUR_MS).toISOString() },
      }) as Boundary;
    const facts = {
      boundaries: [boundary(2), boundary(3), { ...boundary(9), after: null }],
      corrections: [correction(1, 'fill'), correction(2, 'fill', 3), correction(4, 'set')],
    };
    expect(reasonOf('estimated', facts)).toEqual({
      reason: 'a boundary lies inside 3 h without readings; correction 1 is an estimate',
      spans: [
        { from: '2026-11-19T23:00:00Z', to: '2026-11-20T02:00:00.000Z' },
        { from: 'from 1', to: 'to 1' },
      ],
    });
  });

  test('corrected: the corrections that are in force', () => {
    const corrections = [correction(1, 'set'), correction(2, 'set', 3), correction(3, 'undo')];
    expect(reasonOf('corrected', { corrections })).toEqual({
      reason: 'correction 1: reason 1',
      spans: [{ from: 'from 1', to: 'to 1' }],
    });
  });

  test('substituted: the chosen method, and those that must be wrong', () => {
    expect(reasonOf('substituted', { methods: ['a gives 5', 'b gives 7', 'c gives 9'] }).reason).toBe(
      'read from another method, because a gives 5, and the first one must be wrong: b gives 7; c gives 9',
    );
  });

  test('others: the events of its kinds, and no others', () => {
    const events = ['reset', 'register_change', 'spike'].map((kind) => ({
      kind,
      text: `a ${kind}`,
      from: kind,
      to: kind,
    }));
    expect(reasonOf('reset', { events: events as never })).toEqual({
      reason: 'a reset; a register_change',
      spans: [
        { from: 'reset', to: 'reset' },
        { from: 'register_change', to: 'register_change' },
      ],
    });
    expect(reasonOf('incomplete', { missing: ['pv', 'grid'] }).reason).toBe(
      'these declared sources of the device have no energy: pv, grid',
    );
    expect(reasonOf('partial', { coverage: 'half', uncovered: [{ from: 'a', to: 'b' }] })).toEqual({
      reason: 'half',
      spans: [{ from: 'a', to: 'b' }],
    });
  });
});
