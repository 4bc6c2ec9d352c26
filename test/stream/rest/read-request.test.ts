import { expect, test } from 'vitest';
import { parseReadQuery, parseWaitPreference } from '../../../src/stream/rest/read-request.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['wait=5', 5_000],
  ['Wait = 0.25', 250],
  ['wait="3"', 3_000],
  ['respond-async, wait=10;foo', 10_000],
  [['return=minimal', 'wait=1'], 1_000],
  ['wait=0', 0],
  ['wait=-1', undefined],
  ['wait=soon', undefined],
  ['wait=1e9', undefined],
  ['nowait=3', undefined],
  ['wait', undefined],
])('the preference %j means a hold of %s ms', (prefer, holdMs) => {
  expect(parseWaitPreference(prefer)).toBe(holdMs);
});

test('a query sets the start and the limit of a read', () => {
  expect(parseReadQuery({})).toEqual({ start: { kind: 'oldest' }, limit: 10_000 });
  expect(parseReadQuery({ offset: '18446744073709551615', limit: '007' })).toEqual({
    start: { kind: 'offset', offset: 2n ** 64n - 1n },
    limit: 7,
  });
  expect(parseReadQuery({ timestamp: '1800000000000' })).toEqual({
    start: { kind: 'timestamp', timestampMs: 1_800_000_000_000 },
    limit: 10_000,
  });
});
