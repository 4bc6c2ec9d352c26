import { expect, test } from 'vitest';
import { qualityOf, tellingFlags } from '../../src/web/facts/day-quality.ts';
import { dayOfSeries } from './support/days-of-series.ts';

test('a restated day keeps the mark of its doubt, and a repaired one is marked as restated', () => {
  const markOf = (...flags: string[]) => qualityOf([dayOfSeries(1, { status: 'restated', flags })], 0).mark;
  expect([markOf('partial'), markOf('reset'), markOf()]).toEqual(['doubtful', 'restated', 'restated']);
});

test('that today is partial and estimated tells nothing', () => {
  const flags = ['partial', 'estimated', 'reset'];
  expect([tellingFlags(flags, true), tellingFlags(flags, false)]).toEqual([['reset'], flags]);
});
