import { describe, expect, test } from 'vitest';
import {
  endBoundary,
  eventsOfLines,
  joinSpans,
  type Line,
  registerSum,
  segmentsOf,
  startBoundary,
} from '../../src/explain/explain-register.ts';
import { timeOfDayFormat } from '../../src/explain/explain-words.ts';
import { lineFlagBits } from '../../src/explain/explained-day.ts';
import type { Event } from '../../src/explain/explained-schema.ts';
import { HOUR_MS } from '../../src/lib/time.ts';

const startMs = Date.UTC(2026, 10, 20);
const hour = (count: number) => startMs + count * HOUR_MS;
const time = (count: number) => new Date(hour(count)).toISOString();
const clock = timeOfDayFormat('2026-11-20', 'Etc/UTC');
const day = { day: '2026-11-20', startMs, endMs: hour(24), clock };

/** A line between two readings, each as [hour, Wh]. Its part in the day is on the straight line. */
function line(
  [begin, beginWh]: [number, number],
  [end, endWh]: [number, number],
  more: Partial<Line> = {},
): Line {
  const [from, to] = [Math.max(begin, 0), Math.min(end, 24)];
  const at = (count: number) => beginWh + ((endWh - beginWh) * (count - begin)) / (end - begin);
  return {
    ...{
      begin_ms: hour(begin),
      begin_wh: beginWh,
      end_ms: hour(end),
      end_wh: endWh,
      covered: true,
      flags: 0,
    },
    ...{ from_ms: hour(from), from_wh: at(from), from_rounded_wh: Math.round(at(from)) },
    ...{ to_ms: hour(to), to_wh: at(to), to_rounded_wh: Math.round(at(to)) },
    ...{ from_share: null, from_power_wh: null, from_known_ms: null },
    ...{ to_share: null, to_power_wh: null, to_known_ms: null, power_wh: null, known_ms: null },
    ...more,
  };
}
const trace = (...lines: Line[]) => ({ lines, midnightAnchors: [] });
const event = (kind: Event['kind'], fromHour: number, toHour: number) =>
  ({ kind, from: time(fromHour), to: time(toHour) }) as Event;

describe('segments', () => {
  test('join lines on which the index continues, and have the sum of their energy', () => {
    const lines = [
      line([0, 10.4], [1, 20.6]),
      line([1, 20.6], [3, 31]),
      line([3, 5], [4, 7]),
      line([5, 7], [6, 8]),
    ];
    expect(segmentsOf(trace(...lines), [], day)).toEqual([
      { from: time(0), to: time(3), fromWh: 10.4, toWh: 31, energyWh: 21, begins: 'the day begins' },
      { from: time(3), to: time(4), fromWh: 5, toWh: 7, energyWh: 2, begins: 'readings begin' },
      { from: time(5), to: time(6), fromWh: 7, toWh: 8, energyWh: 1, begins: 'readings begin' },
    ]);
  });

  test('leave out lines that are not covered', () => {
    const lines = [line([0, 0], [1, 5]), line([1, 5], [2, 9], { covered: false }), line([2, 9], [3, 10])];
    expect(segmentsOf(trace(...lines), [], day).map(({ energyWh }) => energyWh)).toEqual([5, 1]);
  });

  test.each<[begins: string, first: Line, events: Event[]]>([
    ['the day begins', line([-1, 0], [1, 5]), []],
    ['the day begins', line([0, 3], [1, 5]), []],
    ['the day begins, at zero', line([0, 0], [1, 5]), []],
    ['the register restarts', line([2, 0], [3, 5]), []],
    ['readings begin', line([2, 3], [3, 5]), []],
    ['reset', line([2, 0], [3, 5]), [event('reset', 2, 3)]],
    ['rollover', line([2, 0], [3, 5]), [event('rollover', 2, 3)]],
    ['the register was changed', line([2, 0], [3, 5]), [event('register_change', 2, 3)]],
    ['rebase', line([2, 3], [3, 5]), [event('rebase', 1, 2)]],
    // Events of other kinds or times begin no segment.
    [
      'readings begin',
      line([2, 3], [3, 5]),
      [event('jitter', 2, 3), event('reset', 1, 2), event('rebase', 2, 3)],
    ],
  ])('begin with their cause: %s', (begins, first, events) => {
    expect(segmentsOf(trace(first), events, day)[0]!.begins).toBe(begins);
  });

  test('add up with rounded ends', () => {
    const segment = (fromWh: number, energyWh: number) => ({ fromWh, energyWh }) as never;
    expect(registerSum([segment(10.5, 20), segment(0, 5)])).toEqual({
      energyWh: 25,
      exactWh: null,
      text: '(31 - 11) + (5 - 0) = 25 Wh',
    });
    // A half is rounded away from zero, on both sides of it.
    expect(registerSum([segment(-10.5, 20)]).text).toBe('(9 + 11) = 20 Wh');
    expect(registerSum([]).text).toBe('0 = 0 Wh');
  });
});

describe('the index at a bound of the day', () => {
  const starts = (found: Line, method: 'total_energy' | 'daily_energy' = 'total_energy') =>
    startBoundary(trace(found), method, day);
  const ends = (found: Line) => endBoundary(trace(found), 'total_energy', day);

  test('is that of a reading at this instant', () => {
    expect(starts(line([0, 10], [1, 20]))).toMatchObject({ how: 'reading', time: time(0), indexWh: 10 });
    expect(ends(line([23, 10], [24, 20]))).toMatchObject({ how: 'reading', time: time(24), indexWh: 20 });
    // A line that ends at the start of the day, or begins at its end, is of another day.
    expect(starts(line([-1, 10], [0, 20]))).toMatchObject({ how: 'unknown' });
    expect(ends(line([24, 10], [25, 20]))).toMatchObject({ how: 'unknown' });
  });

  test('is known to a reading even if the time beside it is not', () => {
    expect(starts(line([0, 10], [1, 20], { covered: false }))).toMatchObject({ how: 'reading', indexWh: 10 });
    expect(starts(line([-1, 10], [1, 20], { covered: false }))).toMatchObject({
      how: 'unknown',
      indexWh: null,
      text: 'nothing is known about the time from 2026-11-19 23:00:00 to 01:00:00',
    });
  });

  test('is zero for a daily register that restarts, and only there', () => {
    expect(starts(line([0, 0], [1, 20]), 'daily_energy')).toMatchObject({ how: 'restart' });
    expect(starts(line([0, 5], [1, 20]), 'daily_energy')).toMatchObject({ how: 'reading' });
    expect(starts(line([0, 0], [1, 20]))).toMatchObject({ how: 'reading' });
    const wholeDay = trace(line([0, 0], [24, 20]));
    expect(endBoundary(wholeDay, 'daily_energy', day)).toMatchObject({ how: 'reading' });
  });

  test('lies on a straight line between two readings', () => {
    expect(starts(line([-1, 10], [3, 20]))).toEqual({
      ...{ time: time(0), how: 'interpolated', indexWh: 12.5, roundedWh: 13, fraction: 0.25, power: null },
      before: { time: time(-1), indexWh: 10 },
      after: { time: time(3), indexWh: 20 },
      text: '10 + (20 - 10) x 3,600 s / 14,400 s',
    });
    expect(ends(line([21, 10], [25, 20]))).toMatchObject({ fraction: 0.75, indexWh: 17.5 });
  });

  test('is the difference to the daily register beside it, if that is known', () => {
    const anchor = {
      ...{ begin_ms: hour(-1), begin_wh: 10, end_ms: hour(3), end_wh: 20 },
      ...{ midnight_ms: startMs, midnight_value: 14 },
    };
    const silent = line([-1, 10], [3, 20]);
    const at = (midnight_ms: number) =>
      startBoundary({ lines: [silent], midnightAnchors: [{ ...anchor, midnight_ms }] }, 'total_energy', day);
    expect(at(startMs)).toMatchObject({
      how: 'daily_register',
      text: 'the daily register beside it showed 6 Wh at 03:00:00, when this one stood at 20 Wh: 20 - 6',
    });
    expect(at(hour(24))).toMatchObject({ how: 'interpolated' });
  });

  test.each<[what: string, powerWh: number, text: string]>([
    [
      'explains all of the growth',
      100,
      '0 + (100 - 0) x 30 / 100: by the power beside it 30 of 100 Wh came before, and that explains all of the growth',
    ],
    [
      'leaves less than its even share to the rest',
      80,
      '0 + 30 + (100 - 80) x (3,600 s - 1,800 s) / (14,400 s - 7,200 s): by the power beside it 30 of 80 Wh came before; time without power gets the rest',
    ],
    [
      'leaves more than its even share to the rest',
      40,
      '0 + (100 - 0) x (3,600 s - 1,800 s + 7,200 s x 30 / 40) / 14,400 s: by the power beside it 30 of 40 Wh came before; it is known for 1,800 s before and 7,200 s in all, and the rest gets its even share',
    ],
    [
      'leaves just the even share to the rest',
      50,
      '0 + 30 + (100 - 50) x (3,600 s - 1,800 s) / (14,400 s - 7,200 s): by the power beside it 30 of 50 Wh came before; time without power gets the rest',
    ],
  ])('follows the power beside it, which %s', (_, powerWh, text) => {
    const shape = { from_share: 0.3, from_power_wh: 30, from_known_ms: HOUR_MS / 2 };
    const shaped = line([-1, 0], [3, 100], { ...shape, power_wh: powerWh, known_ms: 2 * HOUR_MS });
    expect(starts(shaped)).toMatchObject({
      ...{ how: 'shaped', fraction: 0.3, text },
      power: { beforeWh: 30, allWh: powerWh, beforeMilliseconds: HOUR_MS / 2, allMilliseconds: 2 * HOUR_MS },
    });
  });
});

describe('the events that lines show', () => {
  const { jitter, carryOver, rebase } = lineFlagBits;
  const shown = (
    lines: Line[],
    stored: Event[] = [],
    method: 'total_energy' | 'daily_energy' = 'total_energy',
  ) =>
    eventsOfLines(trace(...lines), stored, method, day).map(({ kind, from, to, text }) => ({
      kind,
      from,
      to,
      text,
    }));

  test('are held marks and values of the day before, each joined while it lasts', () => {
    const lines = [
      line([1, 5], [2, 5], { flags: jitter }),
      line([2, 5], [3, 5], { flags: jitter }),
      line([3, 5], [4, 6]),
      line([4, 6], [5, 6], { flags: jitter }),
      line([0, 9], [1, 9], { flags: carryOver }),
    ];
    expect(shown(lines)).toEqual([
      {
        ...{ kind: 'jitter', from: time(1), to: time(3) },
        text: 'fell by no more than its jitter between 01:00:00 and 03:00:00; the high-water mark was held',
      },
      {
        ...{ kind: 'jitter', from: time(4), to: time(5) },
        text: 'fell by no more than its jitter between 04:00:00 and 05:00:00; the high-water mark was held',
      },
      {
        ...{ kind: 'carry_over', from: time(0), to: time(1) },
        text: 'showed the day before from 00:00:00 to 01:00:00: no energy',
      },
    ]);
  });

  test('are rebases that are not stored, in the words of the register', () => {
    const drifted = line([1, 5], [2, 3], { flags: rebase });
    expect(shown([drifted])[0]).toMatchObject({
      kind: 'rebase',
      text: 'drifted by 02:00:00: small falls together are more than its jitter; the high-water mark was lowered to 3 Wh: no energy',
    });
    expect(shown([drifted], [], 'daily_energy')[0]!.text).toBe(
      'its value at 02:00:00 does not continue the value at 01:00:00 and is impossible since midnight: no energy',
    );
    expect(shown([drifted], [event('rebase', 1, 2)])).toEqual([]);
  });

  test('are midnights that a daily register knows', () => {
    const anchor = {
      ...{ begin_ms: hour(-1), begin_wh: 10, end_ms: hour(3), end_wh: 20 },
      ...{ midnight_ms: startMs, midnight_value: 14 },
    };
    expect(eventsOfLines({ lines: [], midnightAnchors: [anchor] }, [], 'total_energy', day)).toEqual([
      {
        ...{ kind: 'midnight', from: time(-1), to: time(3), valueBefore: 10, valueAfter: 20, energyWh: 0 },
        text: 'silent from 2026-11-19 23:00:00 to 03:00:00; a daily register shows that it was at 14 Wh at midnight',
      },
    ]);
  });
});

test('spans that touch or overlap are one', () => {
  const span = (from: number, to: number) => ({ fromMs: from, toMs: to });
  expect(joinSpans([span(0, 5), span(1, 2), span(5, 6), span(7, 8)])).toEqual([span(0, 6), span(7, 8)]);
});
