import { describe, expect, test } from 'vitest';
import {
  linesOf,
  nearestPoint,
  type Point,
  pointsOf,
  pointsWithin,
  spanOf,
} from '../../src/web/facts/why-points.ts';
import { runsOf } from '../../src/web/pictures/heat-runs.ts';
import { placeTicks } from '../../src/web/pictures/place-ticks.ts';
import { stepsOf } from '../../src/web/pictures/step-line.ts';
import { pointAfterKey } from '../../src/web/pictures/why-picture.tsx';
import { listDays } from '../../src/web/words/local-days.ts';
import { energyUnit, tickText } from '../../src/web/words/number-words.ts';
import { dayTick } from '../../src/web/words/time-words.ts';

describe('the labels of an axis', () => {
  const shown = (ticks: readonly string[], band: number) =>
    [...placeTicks(ticks, band)].sort((a, b) => a - b).map((index) => ticks[index]);
  const days = listDays('2026-10-25', '2026-11-23').map((day, _, all) => dayTick(day, all[0]!));
  const hours = Array.from({ length: 96 }, (_, index) =>
    index % 4 === 0 ? `${String(index / 4).padStart(2, '0')}:00` : '',
  );

  test('name the month first, and count days in even steps', () => {
    const [first, month] = [days[0]!, days[7]!];
    expect([first, month]).toEqual([expect.stringContaining('Oct'), expect.stringContaining('Nov')]);
    expect(shown(days, 30).slice(0, 5)).toEqual([first, '27', '28', '29', '30']);
    expect(shown(days, 9)).toEqual([first, month, '5', '10', '15', '20']);
  });

  test('count hours in steps that divide a day', () => {
    expect(shown(hours, 11)).toHaveLength(24);
    expect(shown(hours, 2.9)).toEqual(['00:00', '06:00', '12:00', '18:00']);
  });

  test('are all there if there is room, and none without words', () => {
    expect(shown(['Nov 2025', 'Dec', 'Jan 2026'], 80)).toEqual(['Nov 2025', 'Dec', 'Jan 2026']);
    expect(shown(['', ''], 10)).toEqual([]);
  });
});

test('the values of an axis have the decimals that its step needs, at most three', () => {
  const kwh = energyUnit(1_000);
  const decimalsOf = (step: number) => tickText(2_000, step, kwh).replace(/^2\D?/, '').length;
  expect([1_000, 5_000, 500, 200, 50, 1, 0.1].map(decimalsOf)).toEqual([0, 0, 1, 1, 2, 3, 3]);
  expect(tickText(2_000, 1_000, kwh)).toBe('2');
});

test('the line of a reference has a step for each column, and a break where there is none', () => {
  const lineOf = (...references: Array<number | null | undefined>) =>
    stepsOf(
      references.map((reference) => ({ reference })),
      (index) => index * 10,
      (value) => 100 - value,
    );
  expect(lineOf(5, 7, null, 0, undefined, 1)).toBe(
    'M0.0 95.0H10.0L10.0 93.0H20.0M30.0 100.0H40.0M50.0 99.0H60.0',
  );
  expect(lineOf(null)).toBe('');
});

test('cells of one state that follow each other are one run, unless there is room between them', () => {
  const states = ['good', 'good', 'bad', 'good'];
  expect(runsOf(states, false)).toEqual([
    { state: 'good', from: 0, count: 2 },
    { state: 'bad', from: 2, count: 1 },
    { state: 'good', from: 3, count: 1 },
  ]);
  expect(runsOf(states, true).map(({ from, count }) => [from, count])).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 1],
  ]);
});

test('the scale of readings is that of those that count, and without any that of all', () => {
  const of = (...readings: Array<[minute: number, value: number | null, fate: string]>) => {
    const { points, low, high } = pointsOf({
      readings: readings.map(([minute, value, fate]) => ({
        ...{ time: new Date(Date.UTC(2026, 10, 22, 12, minute)).toISOString(), value, fate },
      })),
    } as unknown as Parameters<typeof pointsOf>[0]);
    return { values: points.map(({ value }) => value), low, high };
  };
  expect(of([5, 7, 'repeated'], [0, 3, 'used'], [2, 9_000, 'spike'], [3, null, 'text'])).toEqual({
    ...{ values: [3, 9_000, 7], low: 3, high: 7 },
  });
  expect(of([0, 9_000, 'spike'], [1, 2, 'glitch'])).toEqual({ values: [9_000, 2], low: 2, high: 9_000 });
});

test('a reading at either midnight can be chosen, and one of another day cannot', () => {
  const points = [-1, 0, 5, 10, 11].map((ms) => ({ ms })) as Point[];
  expect(pointsWithin(points, { startMs: 0, endMs: 10 }).map(({ ms }) => ms)).toEqual([0, 5, 10]);
});

describe('a reading is chosen', () => {
  const pointsOfFates = (...fates: string[]) =>
    fates.map((fate, index) => ({ ms: index * 10, reading: { fate } })) as unknown as Point[];

  test('by the pointer: the nearest one, and one that is not used from four times as far', () => {
    const points = pointsOfFates('used', 'spike', 'used');
    const at = (ms: number, reachMs = 10) => nearestPoint(points, ms, reachMs)?.ms;
    expect([at(0), at(2), at(3), at(17), at(19), at(20)]).toEqual([0, 0, 10, 10, 20, 20]);
    expect([at(25, 5), at(26, 5), at(-5, 4)]).toEqual([20, undefined, undefined]);
    expect(nearestPoint([], 0, 10)).toBeUndefined();
  });

  test('by a key: the next one, and with Shift the next one that is not used', () => {
    const points = pointsOfFates('used', 'spike', 'used', 'glitch', 'used');
    const led = (key: string, active?: number, shiftKey = false) =>
      pointAfterKey(
        { key, shiftKey },
        { points, endMs: 100, active: active === undefined ? undefined : points[active / 10] },
      )?.ms;
    expect([led('ArrowRight'), led('ArrowRight', 20), led('ArrowRight', 40)]).toEqual([0, 30, undefined]);
    expect([led('ArrowLeft'), led('ArrowLeft', 20), led('ArrowLeft', 0)]).toEqual([undefined, 10, undefined]);
    expect([led('Home', 20), led('End', 20), led('a', 20)]).toEqual([0, 40, undefined]);
    const unused = (key: string, active?: number) => led(key, active, true);
    expect([undefined, 0, 10, 30].map((active) => unused('ArrowRight', active))).toEqual([
      10,
      10,
      30,
      undefined,
    ]);
    expect([undefined, 40, 30, 10].map((active) => unused('ArrowLeft', active))).toEqual([
      30,
      30,
      10,
      undefined,
    ]);
  });

  test('as a period of its millisecond', () => {
    expect(spanOf('2026-05-16T21:59:59.999Z')).toEqual({
      from: '2026-05-16T21:59:59.999Z',
      to: '2026-05-16T22:00:00.000Z',
    });
  });
});

describe('the line of a register', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 22, 12, minute)).toISOString();
  const points = [
    [0, 100],
    [15, 400],
    [30, 120],
    [45, 130],
  ].map(([minute, value]) => ({
    ms: Date.parse(at(minute!)),
    value,
    reading: { fate: 'used' },
  })) as Point[];
  const linesBy = (...segments: Array<{ from: string; fromWh: number }>) =>
    linesOf(points, segments).map((line) => line.map(({ value }) => value));

  test('is broken before the first reading after a jump', () => {
    expect(linesBy({ from: at(0), fromWh: 100 }, { from: at(30), fromWh: 120 })).toEqual([
      [100, 400],
      [120, 130],
    ]);
  });

  test('is broken after the last reading before a reset, from which the register grows from zero', () => {
    expect(linesBy({ from: at(0), fromWh: 100 }, { from: at(15), fromWh: 0 })).toEqual([
      [100, 400],
      [120, 130],
    ]);
  });
});
