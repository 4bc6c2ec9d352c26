import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advancePosition } from '../../src/client/advance.ts';
import { keepNew } from '../../src/client/keep-new.ts';
import { defaultBounds, startPosition } from '../../src/client/position.ts';
import type { ReadOutcome } from '../../src/client/read-outcome.ts';
import { rounds } from '../support/rounds.ts';
import { at, batch, deliver, delivered, failed, startTimeMs } from './advance-batches.ts';

describe('reading on', () => {
  test("the server's next position is sent back unchanged", () => {
    const outcome = batch([5, 7], { nextOffset: 90n });
    const step = deliver(advancePosition(startPosition({ kind: 'oldest' }), outcome));
    expect(delivered(step, outcome)).toEqual([5n, 7n]);
    expect(step.position).toMatchObject({ ask: { kind: 'offset', offset: 90n }, lastOffset: 7n });
  });

  test('a batch without a message for this reader moves the position', () => {
    const step = deliver(advancePosition(at(5), batch([], { nextOffset: 80n, upToDate: false })));
    expect(step).toMatchObject({ messages: 0, upToDate: false, position: { ask: { offset: 80n } } });
  });

  test('delivered messages are dropped, from inclusive and exclusive servers', () => {
    const outcome = batch([3, 4, 5, 6], { nextOffset: 7n });
    const step = deliver(advancePosition(at(5), outcome));
    expect(step).toMatchObject({ duplicates: 2, messages: 2 });
    expect(delivered(step, outcome)).toEqual([5n, 6n]);
  });

  test('without a next position the last message is requested again, until the server is known to include it', () => {
    const first = deliver(advancePosition(startPosition({ kind: 'oldest' }), batch([5, 6])));
    expect(first.position.ask).toEqual({ kind: 'offset', offset: 6n });
    const second = deliver(advancePosition(first.position, batch([6, 7])));
    expect(second.position).toMatchObject({ inclusive: true, ask: { kind: 'offset', offset: 8n } });
  });

  test('position 0 without messages is the end of a quiet stream, and not a way back', () => {
    const step = deliver(advancePosition(at(500), batch([], { nextOffset: 0n })));
    expect(step).toMatchObject({ messages: 0, upToDate: true, position: { ask: { offset: 500n } } });
  });

  test('the time of the newest message never falls, so that a restart leaves no message out', () => {
    // It is stored a second after the start, and the message before it 499 s after the start.
    const { position } = deliver(advancePosition(at(500), batch([1_000_001n])));
    expect(position).toMatchObject({ lastOffset: 1_000_001n, lastStoreTimeMs: startTimeMs + 499_000 });
  });

  test('a message that cannot be decoded is delivered once and counts for the position', () => {
    const bad = { offset: 9n, reason: 'invalid_data', detail: '', bytes: new Uint8Array() };
    const outcome = batch([8]);
    outcome.columns.rejected = [bad];
    const first = deliver(advancePosition(at(8), outcome));
    expect(first).toMatchObject({ messages: 2, position: { lastOffset: 9n } });
    const again = batch([9, 10]);
    again.columns.rejected = [bad];
    const second = deliver(advancePosition(first.position, again));
    keepNew(again.columns, second.keep);
    expect(again.columns.rejected).toEqual([]);
    expect(second).toMatchObject({ messages: 1, position: { lastOffset: 10n } });
  });
});

describe('disorder', () => {
  test('a batch out of order is delivered by offset, and reported', () => {
    const outcome = batch([5, 8, 6, 8, 7], { nextOffset: 9n });
    const step = deliver(advancePosition(at(5), outcome));
    expect(step).toMatchObject({ outOfOrder: 2, duplicates: 1 });
    expect(delivered(step, outcome)).toEqual([5n, 6n, 7n, 8n]);
  });

  test('a message with a wild offset hides no later message, and is delivered in its turn', () => {
    const wild = 1n << 62n;
    const first = batch([5n, wild, 6n], { nextOffset: 7n });
    const step = deliver(advancePosition(at(5), first));
    expect(step).toMatchObject({ beyond: 1, outOfOrder: 1, position: { lastOffset: 6n } });
    expect(delivered(step, first)).toEqual([5n, 6n]);
    const next = batch([7n, 8n, wild], { nextOffset: wild + 1n });
    const after = deliver(advancePosition(step.position, next));
    expect(delivered(after, next)).toEqual([7n, 8n, wild]);
  });

  test('a message that cannot be decoded waits for its turn too', () => {
    const outcome = batch([5]);
    outcome.columns.rejected = [7n, 6n].map((offset) => ({
      offset,
      reason: 'invalid_data',
      detail: '',
      bytes: new Uint8Array(),
    }));
    const step = deliver(advancePosition(at(5), { ...outcome, nextOffset: 6n }));
    delivered(step, outcome);
    expect(outcome.columns.rejected.map(({ offset }) => offset)).toEqual([6n]);
    expect(step).toMatchObject({ messages: 2, beyond: 1, position: { lastOffset: 6n } });
  });

  test('positions that are no offsets hold no message back', () => {
    const outcome = batch([1_000, 1_001], { nextOffset: 3n });
    const step = deliver(advancePosition(startPosition({ kind: 'offset', offset: 2n }), outcome));
    expect(delivered(step, outcome)).toEqual([1_000n, 1_001n]);
    expect(step.position).toMatchObject({ ask: { offset: 3n }, lastOffset: 1_001n });
    const bad = batch([], { nextOffset: 4n });
    bad.columns.rejected = [{ offset: 1_002n, reason: 'invalid_data', detail: '', bytes: new Uint8Array() }];
    expect(deliver(advancePosition(step.position, bad))).toMatchObject({ messages: 1, beyond: 0 });
  });

  test('one message with a comparable offset is enough to hold later ones back, decoded or not', () => {
    const outcome = batch([50], { nextOffset: 8n });
    outcome.columns.rejected = [{ offset: 5n, reason: 'invalid_data', detail: '', bytes: new Uint8Array() }];
    expect(deliver(advancePosition(at(5), outcome))).toMatchObject({ messages: 1, beyond: 1 });
  });

  test('for any batches, no message is delivered twice and the newest position never falls', () => {
    const offsets = fc.array(fc.bigInt({ min: 0n, max: 60n }), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(offsets, fc.option(fc.bigInt({ min: 0n, max: 60n }), { nil: undefined })), {
          maxLength: 12,
        }),
        (batches) => {
          let position = startPosition({ kind: 'oldest' });
          const seen = new Set<bigint>();
          for (const [found, nextOffset] of batches) {
            const outcome = batch(found, { nextOffset });
            const step = advancePosition(position, outcome);
            if (step.kind === 'fail') return;
            if (step.kind === 'deliver') {
              const rows = delivered(step, outcome);
              expect(rows).toEqual([...rows].sort((a, b) => (a < b ? -1 : 1)));
              expect(rows).toHaveLength(step.messages);
              expect(step.messages + step.duplicates + step.beyond).toBe(found.length);
              for (const offset of rows) {
                expect(seen.has(offset)).toBe(false);
                seen.add(offset);
              }
              // A recreated log may start with low offsets again. Without an epoch only a restart shows it.
              expect(step.position.lastOffset ?? -1n).toBeGreaterThanOrEqual(position.lastOffset ?? -1n);
            } else if (step.kind === 'restart') return;
            position = step.position;
          }
        },
      ),
      { numRuns: rounds(500, 2_000) },
    );
  });
});

describe('failures', () => {
  test('a failure is repeated at the same position, later each time, and then the reader gives up', () => {
    let position = at(500);
    for (let attempt = 1; attempt < defaultBounds.failuresMax; attempt++) {
      const step = advancePosition(position, failed({ retryAfterMs: 700 }));
      expect(step).toMatchObject({
        kind: 'again',
        attempt,
        retryAfterMs: 700,
        position: { ask: position.ask },
      });
      if (step.kind === 'again') position = step.position;
    }
    expect(advancePosition(position, failed({ retryAfterMs: 700 }))).toMatchObject({
      kind: 'fail',
      code: 'Http500',
      retryable: true,
      retryAfterMs: 700,
    });
  });

  test('a failure that will not pass is not repeated', () => {
    expect(
      advancePosition(at(500), failed({ status: 403, code: 'WorkgroupForbidden', retryable: false })),
    ).toMatchObject({
      kind: 'fail',
      code: 'WorkgroupForbidden',
      retryable: false,
    });
  });

  test('a good read resets the number of failures', () => {
    const step = advancePosition(at(500), failed());
    if (step.kind !== 'again') throw new Error(step.kind);
    expect(
      deliver(advancePosition(step.position, batch([500], { nextOffset: 501n }))).position.failures,
    ).toBe(0);
  });

  test('reads without new messages that should have some wait longer, and then fail', () => {
    let position = at(500);
    const kinds: string[] = [];
    for (let read = 0; read < 20 && kinds.at(-1) !== 'fail'; read++) {
      const step = advancePosition(position, batch([], { nextOffset: 500n, upToDate: false }));
      kinds.push(step.kind);
      if (step.kind !== 'fail') position = step.position;
    }
    expect(kinds).toEqual(['again', 'again', 'again', 'again', 'fail']);
  });

  test('messages without an offset are not delivered for ever', () => {
    const unplaced = () => {
      const outcome = batch([]);
      outcome.columns.rejected = [
        { offset: undefined, reason: 'not_a_map', detail: '', bytes: new Uint8Array() },
      ];
      return outcome;
    };
    expect(advancePosition(at(500), unplaced())).toMatchObject({ kind: 'again' });
    expect(advancePosition(at(500, { stalls: 4 }), unplaced())).toMatchObject({
      kind: 'fail',
      code: 'NoProgress',
    });
    // After the position they are delivered once.
    expect(advancePosition(at(500), { ...unplaced(), nextOffset: 501n })).toMatchObject({
      kind: 'deliver',
      messages: 1,
    });
  });

  test('a reader without new messages gives up after a bounded number of reads, for any server', () => {
    const nothing: fc.Arbitrary<ReadOutcome> = fc.oneof(
      fc.constantFrom(undefined, 0n, 500n).map((nextOffset) => batch([], { nextOffset, upToDate: false })),
      fc
        .record({
          status: fc.constantFrom(0, 200, 400, 404, 410, 416, 500, 503),
          aboutPosition: fc.constantFrom('yes' as const, 'maybe' as const, 'no' as const),
          retryable: fc.constant(true),
        })
        .map(failed),
    );
    fc.assert(
      fc.property(
        fc.infiniteStream(nothing),
        fc.constantFrom(at(500), startPosition({ kind: 'oldest' })),
        (outcomes, start) => {
          let position = start;
          for (let read = 1; read <= 250; read++) {
            const step = advancePosition(position, outcomes.next().value as ReadOutcome);
            if (step.kind === 'fail') return;
            position = step.position;
          }
          throw new Error('still reading');
        },
      ),
      { numRuns: rounds(200, 500) },
    );
  });
});
