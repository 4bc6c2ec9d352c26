import { expect, test } from 'vitest';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { inputsState } from '../../src/service/inputs-state.ts';
import { createTestClock } from '../support/test-clock.ts';

/** So many inputs that have not been connected for a minute. */
function brokenInputs(count: number) {
  const clock = createTestClock();
  const counters = Array.from({ length: count }, (_, index) =>
    createInputCounter(
      {
        workgroupId: 'home',
        input: `house-${index}`,
        kind: 'mqtt',
        address: 'mqtt://h',
        connection: 'disconnected',
      },
      clock,
    ),
  );
  clock.leap(60_000);
  return { inputs: counters.map((counter) => counter.state()), nowMs: clock.now() };
}

test('a process without inputs says nothing of them', () => {
  expect(inputsState([], 0, true)).toBeUndefined();
});

test('problems of inputs are listed, up to 20, and never take the process out of service', () => {
  const { inputs, nowMs } = brokenInputs(21);
  const state = inputsState(inputs, nowMs, true)!;
  expect(state).toMatchObject({ ok: true, detail: { inputs: 21, troubles: 21 } });
  expect(state.detail!.problems).toHaveLength(20);
  expect(state.detail!.problems).toContainEqual(
    expect.stringMatching(/^workgroup home: input "house-0" .* is not connected/),
  );
});

test('strangers see only how many there are, and inputs that work have no problems', () => {
  const { inputs, nowMs } = brokenInputs(2);
  expect(inputsState(inputs, nowMs, false)).toEqual({ ok: true, detail: { inputs: 2, troubles: 2 } });
  expect(inputsState(inputs, nowMs - 59_000, true)).toEqual({ ok: true, detail: { inputs: 2, troubles: 0 } });
});
