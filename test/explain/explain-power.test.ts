import { expect, test } from 'vitest';
import { gapsOf, partsOf, powerSum, wattHours } from '../../src/explain/explain-power.ts';
import { timeOfDayFormat } from '../../src/explain/explain-words.ts';
import { HOUR_MS } from '../../src/lib/time.ts';

const startMs = Date.UTC(2026, 10, 20);
const day = {
  day: '2026-11-20',
  startMs,
  endMs: startMs + 24 * HOUR_MS,
  clock: timeOfDayFormat('2026-11-20', 'Etc/UTC'),
};
const part = (fromHour: number, toHour: number, covered: boolean) => ({
  ...{ from_ms: startMs + fromHour * HOUR_MS, to_ms: startMs + toHour * HOUR_MS, from_w: 100, to_w: 300 },
  ...{
    covered,
    energy_wh: 200,
    milliseconds: (toHour - fromHour) * HOUR_MS,
    parts: 9,
    sum_nwh: '0',
    sum_wh: 0,
  },
});
const trace = (...parts: Array<ReturnType<typeof part>>) => ({
  ...{ parts, covered: [], count: 9, sumNwh: '0', sumWh: 0 },
});

test.each([
  ['0', '0'],
  ['1', '0.000000001'],
  ['-1', '-0.000000001'],
  ['1500000000', '1.5'],
  ['-1500000000', '-1.5'],
  ['100000000', '0.1'],
  ['12345678901234567890', '12345678901.23456789'],
  ['2000000000', '2'],
])('%s billionths are %s Wh', (nwh, wh) => expect(wattHours(nwh)).toBe(wh));

test.each([
  [{ count: 1, sumNwh: '1500000000', sumWh: 2 }, '1.5', '1 part, together 1.5 Wh, rounded 2 Wh'],
  // A sum that is whole is not rounded.
  [{ count: 2, sumNwh: '2000000000', sumWh: 2 }, '2', '2 parts, together 2 Wh'],
  [
    { count: 1_000, sumNwh: '-1234567000000001', sumWh: -1_234_567 },
    '-1234567.000000001',
    '1,000 parts, together -1,234,567.000000001 Wh, rounded -1,234,567 Wh',
  ],
])('the sum of %j is told with all decimals', (sum, exactWh, text) => {
  expect(powerSum({ ...trace(), ...sum })).toEqual({ energyWh: sum.sumWh, exactWh, text });
});

test('a part has its time, its power and its energy', () => {
  expect(partsOf(trace(part(1, 2, true)))).toEqual([
    {
      ...{ from: '2026-11-20T01:00:00.000Z', to: '2026-11-20T02:00:00.000Z', milliseconds: HOUR_MS },
      ...{ fromW: 100, toW: 300, covered: true, energyWh: 200 },
    },
  ]);
});

test('parts that are not integrated are gaps, and parts that follow each other are one gap', () => {
  const parts = [
    part(0, 1, true),
    part(1, 2, false),
    part(2, 4, false),
    part(4, 5, true),
    part(9, 10, false),
  ];
  expect(gapsOf(trace(...parts), day)).toEqual([
    {
      ...{ kind: 'gap', from: '2026-11-20T01:00:00.000Z', to: '2026-11-20T04:00:00.000Z' },
      ...{ valueBefore: null, valueAfter: null, energyWh: 0 },
      text: 'silent for longer than is filled in: nothing is taken from 01:00:00 to 04:00:00 (3 h)',
    },
    expect.objectContaining({ from: '2026-11-20T09:00:00.000Z', to: '2026-11-20T10:00:00.000Z' }),
  ]);
});
