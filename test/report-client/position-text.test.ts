import { expect, test } from 'vitest';
import { type Position, startPosition } from '../../src/client/position.ts';
import { parsePosition, positionText } from '../../src/report-client/position-text.ts';

const far: Position = {
  ask: { kind: 'offset', offset: 2n ** 64n - 1n },
  epoch: '7',
  lastOffset: 2n ** 60n + 1n,
  lastStoreTimeMs: 1_779_004_800_000,
  inclusive: true,
  gap: { reason: 'expired', from: 2n ** 59n + 1n, to: 2n ** 60n, fromTimeMs: 1, toTimeMs: 2 },
  failures: 1,
  restarts: 2,
  stalls: 3,
};

test('a position comes back from its text, with every digit of its offsets', () => {
  expect(parsePosition(positionText(far))).toEqual(far);
  for (const ask of [{ kind: 'oldest' }, { kind: 'timestamp', timestampMs: 12 }] as const)
    expect(parsePosition(positionText(startPosition(ask)))).toEqual(startPosition(ask));
});

test('a time before 1970 is a time to begin at', () => {
  const early = startPosition({ kind: 'timestamp', timestampMs: -1 });
  expect(parsePosition(positionText(early))).toEqual(early);
});

test.each(['', '{', 'null', '7', '"a"', '[]', '{}'])('the text %j is not a position', (text) => {
  expect(() => parsePosition(text)).toThrow(SyntaxError);
});

test.each([
  { ask: {} },
  { ask: { kind: 'x' } },
  { ask: { kind: 'newest' } },
  { ask: { kind: 'offset' } },
  { ask: { kind: 'offset', offset: 'x' } },
  { ask: { kind: 'offset', offset: String(2n ** 64n) } },
  { ask: { kind: 'timestamp', timestampMs: '12' } },
  { epoch: 7 },
  { lastOffset: 12 },
  { lastOffset: 'x' },
  { inclusive: undefined },
  { gap: { reason: 'unknown' } },
  { gap: { reason: 'expired', from: 7 } },
  { gap: { reason: 'expired', toTimeMs: 'now' } },
  { lastStoreTimeMs: '12' },
  { failures: 'many' },
  { stalls: null },
])('a position with %j is refused', (wrong) => {
  const stored = { ...JSON.parse(positionText(far)), ...wrong };
  expect(() => parsePosition(JSON.stringify(stored))).toThrow(SyntaxError);
});
