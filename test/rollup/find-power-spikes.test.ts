import { expect, test } from 'vitest';
import { findPowerSpikes } from '../../src/rollup/find-power-spikes.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';

/** A break between two readings: times, values, and whether the second is beyond the limit. */
const breakOf = (fromMs: number, toMs: number, values: [from: number, to: number], isBeyond: boolean) => ({
  ...{ fromMs, toMs, fromValue: values[0], toValue: values[1], isBeyond },
  ...{ maxPowerW: 10, maxPowerAfterResetW: undefined, jitterWh: 0, standstillSinceMs: undefined },
});
const spike = (fromMs: number, toMs: number, valueBefore: number, valueAfter: number) => ({
  ...{ kind: 'spike', fromMs, toMs, valueBefore, valueAfter, energyWh: 0 },
});

const up = breakOf(1, 2, [5, 50], true);
const back = breakOf(2, 3, [50, 6], false);
/** Back after several readings beyond the limit. */
const lateBack = breakOf(4, 5, [60, 6], false);

test('a single reading beyond the limit is a spike, with a learnt limit and with a configured one', () => {
  for (const learnt of [true, false])
    expect(findPowerSpikes([up, back], { learnt })).toEqual([spike(2, 2, 5, 50)]);
});

test('readings that agree are spikes only beyond a configured limit', () => {
  expect(findPowerSpikes([up, lateBack], { learnt: true })).toEqual([]);
  expect(findPowerSpikes([up, lateBack], { learnt: false })).toEqual([spike(2, 4, 5, 50)]);
});

test('without a way back, all later readings are spikes beyond a configured limit, and none beyond a learnt one', () => {
  const foreverMs = ruleConstants.forever_ms.value;
  expect(findPowerSpikes([up], { learnt: false })).toEqual([spike(2, foreverMs, 5, 50)]);
  expect(findPowerSpikes([up], { learnt: true })).toEqual([]);
});

test('the very first reading has no reading before it', () => {
  const first = breakOf(2, 2, [50, 50], true);
  expect(findPowerSpikes([first, back], { learnt: true })).toEqual([spike(2, 2, 0, 50)]);
});

test('each spike of a series is found', () => {
  const again = breakOf(7, 8, [5, 70], true);
  const backAgain = breakOf(8, 9, [70, 5], false);
  expect(findPowerSpikes([up, back, again, backAgain], { learnt: true })).toEqual([
    spike(2, 2, 5, 50),
    spike(8, 8, 5, 70),
  ]);
  expect(findPowerSpikes([], { learnt: true })).toEqual([]);
});
