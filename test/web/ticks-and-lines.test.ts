import { describe, expect, test } from 'vitest';
import { linesOf, type Point, pointsWithin } from '../../src/web/facts/why-points.ts';
import { placeTicks } from '../../src/web/pictures/place-ticks.ts';
import { listDays } from '../../src/web/words/local-days.ts';
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

test('a reading at either midnight can be chosen, and one of another day cannot', () => {
  const points = [-1, 0, 5, 10, 11].map((ms) => ({ ms })) as Point[];
  expect(pointsWithin(points, { startMs: 0, endMs: 10 }).map(({ ms }) => ms)).toEqual([0, 5, 10]);
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
