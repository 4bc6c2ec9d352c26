import { expect, test } from 'vitest';
import { offsetOf } from '../../../src/contract/offset.ts';
import { createLogStart } from '../../../src/stream/log/log-start.ts';

/** A start whose messages are too old before the floor. */
function setUp(floorMs = 0) {
  const floor = { ms: floorMs };
  return { floor, start: createLogStart({ floorMs: () => floor.ms }) };
}
const span = { firstOffset: 10n, lastOffset: 20n, firstOrdinal: 0 };

test('a log begins after the newest message that is gone, and never earlier again', () => {
  const { start } = setUp();
  expect(start.offset).toBe(0n);
  for (const through of [undefined, 7n, 3n]) start.noteGone(through);
  expect([start.offset, start.floorNow()]).toEqual([8n, 8n]);
  start.reset();
  expect(start.offset).toBe(0n);
});

test('messages that are too old by the clock are gone, too, and a clock before 1970 hides none', () => {
  const { start, floor } = setUp(3);
  expect(start.floorNow()).toBe(offsetOf(3));
  start.noteGone(offsetOf(5));
  expect(start.floorNow()).toBe(offsetOf(5) + 1n);
  floor.ms = -1;
  expect(setUp(-1).start.floorNow()).toBe(0n);
});

test('the bounds begin at the oldest message, or at a floor within its chunk, which then stays hidden', () => {
  const { start } = setUp();
  expect(start.boundsFrom(10n, span, 21n, 'e')).toEqual({ earliest: 10n, next: 21n, epoch: 'e' });
  expect(start.offset).toBe(0n);
  expect(start.boundsFrom(12n, span, 21n, 'e')).toEqual({ earliest: 12n, next: 21n, epoch: 'e' });
  expect(start.offset).toBe(12n);
});
