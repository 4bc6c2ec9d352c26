import { expect, test } from 'vitest';
import { createPostponedShards } from '../../jobs/postponed-shards.ts';

const LEASE_MS = 10_000;

function setUp() {
  const clock = { isSteady: true as const, ms: 1_000_000, now: () => clock.ms };
  return { clock, postponed: createPostponedShards(clock, LEASE_MS) };
}

test('a shard is tried again after a lease, then after longer times up to a minute', () => {
  const { clock, postponed } = setUp();
  const waits = [1, 2, 3, 4, 5].map(() => {
    const { retryAtMs } = postponed.add('home', 'away', { isFailure: true });
    return retryAtMs - clock.ms;
  });
  expect(waits[0]).toBe(LEASE_MS);
  expect(waits[1]).toBe(2 * LEASE_MS);
  expect(waits.slice(-2)).toEqual([60_000, 60_000]);
  postponed.remove('home');
  expect(postponed.add('home', 'away', { isFailure: true })).toMatchObject({ attempts: 1 });
});

test('a shard fails since its first failure, and a shard of another worker does not fail', () => {
  const { clock, postponed } = setUp();
  postponed.add('home', 'another worker has it', { isFailure: false });
  clock.ms += 5_000;
  const failsSinceMs = clock.ms;
  postponed.add('home', 'the file is damaged', { isFailure: true });
  clock.ms += 5_000;
  postponed.add('home', 'the disk is full', { isFailure: true });
  expect(postponed.find('home')).toMatchObject({
    attempts: 3,
    sinceMs: failsSinceMs,
    isFailure: true,
    error: 'the disk is full',
  });
});

test('a shard that is not tried again within a lease belongs to another worker', () => {
  const { clock, postponed } = setUp();
  const { retryAtMs } = postponed.add('home', 'away', { isFailure: true });
  clock.ms = retryAtMs + LEASE_MS;
  expect(postponed.findUnlessLapsed('home')).toBe(postponed.find('home'));
  clock.ms += 1;
  expect([postponed.findUnlessLapsed('home'), postponed.findUnlessLapsed('plant')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(postponed.find('home')).toBeDefined();
});
