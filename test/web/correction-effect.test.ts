import { expect, test } from 'vitest';
import type { ListedCorrection } from '../../src/correction/list-corrections.ts';
import { CorrectionEffect } from '../../src/web/pages/correction-effect.tsx';
import { renderPart } from './support/render-part.ts';

type Day = ListedCorrection['days'][number];
const correction: ListedCorrection = {
  id: 1,
  kind: 'exclude',
  device: '0b0e7c1e-0000-4000-8000-000000000001',
  source: 'pv',
  table: null,
  field: null,
  day: null,
  timezone: null,
  from: '2026-05-16T22:00:00.000Z',
  to: '2026-05-17T22:00:00.000Z',
  energyWh: null,
  basis: null,
  undoes: null,
  undoneBy: null,
  reason: 'a test',
  author: 'ada',
  at: '2026-05-17T09:00:00.000Z',
  days: [],
  dayCount: 0,
};
const dayOf = (day: string, beforeWh: number | null, afterWh: number | null): Day => ({
  day,
  device: correction.device,
  source: 'pv',
  beforeWh,
  afterWh,
});
const shown = (days: Day[], dayCount = days.length) =>
  renderPart(CorrectionEffect, { correction: { ...correction, days, dayCount } }).lines;

test('a correction that changes nothing says so', () => {
  expect(shown([])).toEqual(['Nothing would change.']);
});

test('each day has its energy before and after, and none is not zero', () => {
  const days = [dayOf('2026-05-15', 12_345, 0), dayOf('2026-05-16', null, 9), dayOf('2026-05-17', 0, null)];
  expect(shown(days)).toEqual([
    'This would change 3 days. Nothing is stored yet.',
    'Day | Before | After',
    'Fri, May 15, 2026 | 12,345 Wh | 0 Wh',
    'Sat, May 16, 2026 | none | 9 Wh',
    'Sun, May 17, 2026 | 0 Wh | none',
  ]);
  expect(shown(days.slice(1, 2))[0]).toBe('This would change 1 day. Nothing is stored yet.');
});

test('ten days are listed, and the others are counted', () => {
  const days = Array.from({ length: 12 }, (_, index) => dayOf(`2026-05-${index + 10}`, 1, 2));
  expect(shown(days.slice(0, 10))).toHaveLength(12);
  expect(shown(days, 1_100)[0]).toBe('This would change 1,100 days. Nothing is stored yet.');
  expect(shown(days, 1_100).slice(-2)).toEqual(['Tue, May 19, 2026 | 1 Wh | 2 Wh', 'And 1,090 more.']);
});

test('days that the service only counts are counted', () => {
  const lines = shown([dayOf('2026-05-01', 1, 2)], 30);
  expect(lines[0]).toBe('This would change 30 days. Nothing is stored yet.');
  expect(lines.at(-1)).toBe('And 29 more.');
});
