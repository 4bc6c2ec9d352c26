import { expect, test } from 'vitest';
import { advancePosition } from '../../src/client/advance.ts';
import { locateNewMessages } from '../../src/client/locate-new-messages.ts';
import { defaultBounds, type Position } from '../../src/client/position.ts';
import type { ErrorOutcome } from '../../src/client/read-outcome.ts';
import { gapOf, inNewLog, interruptionOf, restartReading } from '../../src/client/restart-reading.ts';
import { at, batch, deliver, failed, startTimeMs } from './advance-batches.ts';

const known = at(500, { epoch: 'one' });

test.each<[what: string, error: Partial<ErrorOutcome>, interruption: object]>([
  ['a position that is gone', { status: 410, earliestOffset: 9n }, { reason: 'expired', to: 9n }],
  ['the same by its code', { status: 200, code: 'OffsetExpired' }, { reason: 'expired', to: undefined }],
  ['a position past the end', { status: 416 }, { reason: 'recreated', epoch: undefined }],
  ['the same by its code', { status: 400, code: 'OffsetAhead' }, { reason: 'recreated', epoch: undefined }],
  [
    'a shorter end of this log',
    { status: 416, epoch: 'one', nextOffset: 9n },
    { reason: 'lost_tail', tail: 9n },
  ],
  ['an unknown end of this log', { status: 416, epoch: 'one' }, { reason: 'recreated', epoch: 'one' }],
  ['another log', { status: 410, epoch: 'two' }, { reason: 'recreated', epoch: 'two' }],
  ['a position that is refused', { status: 400 }, { reason: 'rejected' }],
])('an error says what has happened: %s', (_, error, interruption) => {
  expect(interruptionOf(known, failed(error))).toEqual(interruption);
});

test('a position past the end of a log of unknown epoch shows another log, named or not', () => {
  expect(interruptionOf(at(500), failed({ status: 416, epoch: 'one', nextOffset: 9n }))).toEqual({
    reason: 'recreated',
    epoch: 'one',
  });
  expect(interruptionOf(at(500), failed({ status: 416, nextOffset: 9n }))).toEqual({
    reason: 'recreated',
    epoch: undefined,
  });
});

/** The place where the reader reads again. */
function askAfter(position: Position, broken: Parameters<typeof restartReading>[1]) {
  const step = restartReading(position, broken, defaultBounds, 'because');
  return step.kind === 'restart' ? step.position.ask : step;
}

test('a reader reads again from a second before its last message, but not from before 1970', () => {
  const expired = { reason: 'expired' } as const;
  const timestampMs = startTimeMs + 498_000;
  expect(askAfter(known, expired)).toEqual({ kind: 'timestamp', timestampMs });
  const early = at(500, { lastStoreTimeMs: 300 });
  expect(askAfter(early, expired)).toEqual({ kind: 'timestamp', timestampMs: 0 });
  const oldest = { kind: 'oldest' };
  expect(askAfter(at(500, { lastStoreTimeMs: undefined }), expired)).toEqual(oldest);
  expect(askAfter({ ...known, ask: { kind: 'timestamp', timestampMs } }, expired)).toEqual(oldest);
  // All messages of a log with another name are new. One without a name can be the old one.
  expect(askAfter(known, { reason: 'recreated', epoch: 'two' })).toEqual(oldest);
  expect(askAfter(known, { reason: 'recreated' })).toMatchObject({ kind: 'timestamp' });
});

test('after four restarts a reader gives up, and a later start can help unless the position may be right', () => {
  const last = at(500, { restarts: 3 });
  const none = at(500, { restarts: 4 });
  const broken = { reason: 'rejected' } as const;
  const restart = (position: Position, error?: ErrorOutcome) =>
    restartReading(position, broken, defaultBounds, 'because', error);
  expect(restart(last)).toMatchObject({ kind: 'restart', position: { restarts: 4, failures: 0, stalls: 0 } });
  expect(restart(none)).toMatchObject({ kind: 'fail', code: 'TooManyRestarts', retryable: true });
  for (const [aboutPosition, retryable] of [
    ['yes', true],
    ['maybe', false],
  ] as const)
    expect(restart(none, failed({ aboutPosition }))).toMatchObject({ code: 'Http500', retryable });
});

test('another log has other offsets, so what is known of the old ones does not hide its messages', () => {
  const before = { ...known, inclusive: true };
  expect(inNewLog(before, { reason: 'recreated', epoch: 'two' })).toMatchObject({
    ...{ epoch: 'two', lastOffset: undefined, inclusive: false },
    gap: { reason: 'recreated', from: 500n, to: undefined, fromTimeMs: known.lastStoreTimeMs },
  });
  expect(inNewLog(before, { reason: 'recreated' }).epoch).toBeUndefined();
  expect(inNewLog(before, { reason: 'expired', to: 900n })).toMatchObject({
    ...{ epoch: 'one', lastOffset: known.lastOffset, inclusive: true },
    gap: { reason: 'expired', from: 500n, to: 900n },
  });
});

test('a gap begins where the first of several breaks has begun', () => {
  const first = inNewLog(known, { reason: 'expired', to: 900n });
  const moved: Position = { ...first, ask: { kind: 'offset', offset: 700n } };
  expect(inNewLog(moved, { reason: 'recreated', epoch: 'two' }).gap).toMatchObject({
    ...{ reason: 'recreated', from: 500n },
  });
  const unsure = at(500, { ask: { kind: 'oldest' } });
  expect(inNewLog(unsure, { reason: 'rejected' }).gap).toMatchObject({ from: unsure.lastOffset });
});

test('a gap ends at the first message that is later than the last delivered one, in any order of a batch', () => {
  const { gap } = inNewLog(known, { reason: 'recreated', epoch: 'two' });
  const unknown = { lastOffset: undefined, nextOffset: undefined, asked: undefined };
  const endAfter = (...offsets: number[]) => {
    const read = batch(offsets);
    const located = locateNewMessages(read.columns, unknown);
    return (gapOf({ ...known, gap }, read, located)!.toTimeMs! - startTimeMs) / 1_000;
  };
  const last = (known.lastStoreTimeMs! - startTimeMs) / 1_000;
  expect(endAfter(last + 2, last + 1)).toBe(last + 1);
  expect(endAfter(last - 9, last + 7, last + 3, last)).toBe(last + 3);
  expect(endAfter(last - 9, last)).toBe(last);
});

test('a log that has lost its end keeps what lies before it, and gives later offsets again', () => {
  const lostTail = (tail: bigint) => inNewLog(known, { reason: 'lost_tail', tail });
  expect(lostTail(499n)).toMatchObject({ epoch: 'one', lastOffset: 498n, gap: { from: 500n, to: 499n } });
  expect(lostTail(500n)).toMatchObject({ lastOffset: 499n });
});

test('two known messages again are suspicious if the server does not say where its stream ends, and one is not', () => {
  const quiet = at(502);
  expect(advancePosition(quiet, batch([500]))).toMatchObject({ kind: 'deliver', messages: 0 });
  expect(advancePosition(quiet, batch([499, 500]))).toMatchObject({ kind: 'again' });
  const said = batch([499, 500], { upToDate: true });
  expect(deliver(advancePosition(quiet, said))).toMatchObject({ upToDate: true, duplicates: 2 });
});
