import { expect, test } from 'vitest';
import { describeEnergy } from '../../src/cli/explain/explain-energy-view.ts';
import type { ExplainedSource, Interval } from '../../src/explain/explained-schema.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { linesOf } from './explained-page.ts';

const START_MS = Date.UTC(2026, 6, 1);

/** The lines of two hours that begin with these quarters of an hour. */
function hoursOf(quarters: ReadonlyArray<Pick<Interval, 'energyWh' | 'exactWh'>>): string[] {
  const intervals = quarters.map((quarter, index) => ({
    ...quarter,
    start: new Date(START_MS + index * 15 * MINUTE_MS).toISOString(),
    coveredMilliseconds: 15 * MINUTE_MS,
  }));
  const [page] = describeEnergy(
    { boundaries: null, intervals } as unknown as ExplainedSource,
    { start: '2026-07-01T00:00:00.000Z', end: '2026-07-01T02:00:00.000Z' },
    Object.assign((time: string) => time.slice(11, 16), { toSecond: String }),
    { all: false },
  );
  return linesOf(`\n${page}`, 'Energy by the hour').slice(1);
}

test('the energy of an hour is the sum of its quarters before they are rounded', () => {
  const quarter = { energyWh: 0, exactWh: '0.4' };
  expect(hoursOf([quarter, quarter, quarter, quarter])).toEqual([
    '00:00 | 01:00 | 1.6',
    '01:00 | 02:00 | 0 | not measured',
  ]);
  // The parts of a register are whole Wh.
  const whole = { energyWh: 3, exactWh: null };
  expect(hoursOf([whole, whole, quarter])[0]).toBe('00:00 | 01:00 | 6.4 | 45 min of it measured');
});

test('hours without energy share a line if they were measured alike, and one that lacks a part stands alone', () => {
  const quiet = Array.from({ length: 8 }, () => ({ energyWh: 0, exactWh: '0' }));
  expect(hoursOf(quiet)).toEqual(['00:00 | 02:00 | 0']);
  expect(hoursOf(quiet.slice(4))).toEqual(['00:00 | 01:00 | 0', '01:00 | 02:00 | 0 | not measured']);
  expect(hoursOf(quiet.slice(1))).toEqual(['00:00 | 01:00 | 0', '01:00 | 02:00 | 0 | 45 min of it measured']);
});

test('the parts of the curve have the title of their method, and of power on a day without a result', () => {
  const parts = [
    {
      from: '2026-07-01T00:00:00.000Z',
      to: '2026-07-01T00:15:00.000Z',
      fromW: 100,
      toW: 100,
      energyWh: 25,
      covered: true,
    },
  ];
  const titleOf = (result: { method: string } | null) =>
    describeEnergy(
      {
        boundaries: null,
        intervals: [
          { energyWh: 25, exactWh: '25', start: parts[0]!.from, coveredMilliseconds: 15 * MINUTE_MS },
        ],
        parts,
        partsLeftOut: 0,
        result,
      } as unknown as ExplainedSource,
      { start: '2026-07-01T00:00:00.000Z', end: '2026-07-01T01:00:00.000Z' },
      Object.assign((time: string) => time.slice(11, 16), { toSecond: String }),
      { all: true },
    )[1]!.split('\n')[0];
  const power = 'Area under the power, cut at quarters of an hour';
  expect([null, { method: 'power_curve' }, { method: 'interval_energy' }].map(titleOf)).toEqual([
    power,
    power,
    'The energy of each interval as constant power, cut at quarters of an hour',
  ]);
});
