import { expect, test } from 'vitest';
import { offsetOf } from '../../src/contract/offset.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { clockTroubles } from '../../src/pipeline/clock-troubles.ts';

const NOW_MS = Date.UTC(2026, 10, 20);

const troubles = (aheadMs: number, workgroup: { id: string; upstream?: unknown } = { id: 'home' }) =>
  clockTroubles(workgroup, { poll: { nextOffset: String(offsetOf(NOW_MS + aheadMs)) } }, NOW_MS);

test('a store time more than 5 minutes ahead of the clock is a trouble', () => {
  expect(troubles(5 * MINUTE_MS)).toEqual([]);
  expect(troubles(5 * MINUTE_MS + 1)).toMatchObject([
    { workgroupId: 'home', stage: 'store', state: 'failing', message: expect.stringContaining(' 5m ahead') },
  ]);
});

test.each([
  [90 * MINUTE_MS + 1, '90m'],
  [3 * HOUR_MS + 20 * MINUTE_MS, '3h'],
  [47 * HOUR_MS, '47h'],
  [3 * DAY_MS + 5 * HOUR_MS, '3d'],
])('how far it is ahead is said in whole minutes, hours or days: %i ms as %s', (aheadMs, text) => {
  expect(troubles(aheadMs)[0]!.message).toContain(`is ${text} ahead`);
});

test('offsets of an upstream have no store time', () => {
  expect(troubles(60 * MINUTE_MS, { id: 'copy', upstream: { url: 'https://example.com' } })).toEqual([]);
});
