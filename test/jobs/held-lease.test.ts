import { expect, test } from 'vitest';
import { createHeldLease } from '../../jobs/held-lease.ts';

const leaseMs = 10_000;
const takenAtMs = 1_000_000;

function take({ canRunOut }: { canRunOut: boolean }) {
  const clock = { isSteady: true as const, ms: takenAtMs, now: () => clock.ms };
  return { clock, lease: createHeldLease(takenAtMs, { leaseMs, canRunOut }, clock) };
}

test('a lease is ours until it runs out, and runs out soon in its last fifth', () => {
  const { clock, lease } = take({ canRunOut: true });
  const at = (ms: number) => {
    clock.ms = takenAtMs + ms;
    return [lease.isValid(), lease.runsOutSoon(), lease.hasRunOut()];
  };
  expect(at(7_999)).toEqual([true, false, false]);
  expect(at(8_000)).toEqual([true, true, false]);
  expect(at(9_999)).toEqual([true, true, false]);
  expect(at(10_000)).toEqual([false, true, true]);
});

test('a renewal counts from the moment of its request', () => {
  const { clock, lease } = take({ canRunOut: true });
  clock.ms = takenAtMs + 9_000;
  lease.noteRenewal(takenAtMs + 4_000);
  clock.ms = takenAtMs + 13_999;
  expect(lease.isValid()).toBe(true);
  clock.ms = takenAtMs + 14_000;
  expect(lease.hasRunOut()).toBe(true);
});

test('a lease that is released is not ours, has not run out, and is not renewed', () => {
  const { clock, lease } = take({ canRunOut: true });
  lease.noteRelease();
  lease.noteRenewal(takenAtMs);
  expect([lease.isReleased(), lease.isValid(), lease.hasRunOut()]).toEqual([true, false, false]);
  clock.ms = takenAtMs + leaseMs;
  expect([lease.hasRunOut(), lease.runsOutSoon()]).toEqual([false, false]);
});

test('the lease of a single worker does not run out', () => {
  const { clock, lease } = take({ canRunOut: false });
  clock.ms = takenAtMs + 10 * leaseMs;
  expect([lease.isValid(), lease.hasRunOut()]).toEqual([true, false]);
});
