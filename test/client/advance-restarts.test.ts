import { describe, expect, test } from 'vitest';
import { advancePosition } from '../../src/client/advance.ts';
import { defaultBounds, type Position, startPosition } from '../../src/client/position.ts';
import { at, batch, deliver, delivered, failed, startTimeMs } from './advance-batches.ts';

describe('lost positions', () => {
  const last = { lastOffset: 499n, lastStoreTimeMs: startTimeMs + 499_000 };

  test.each([
    [
      failed({
        status: 410,
        code: 'OffsetExpired',
        aboutPosition: 'yes',
        retryable: false,
        earliestOffset: 600n,
      }),
      'expired',
      600n,
    ],
    [
      failed({ status: 400, code: 'InvalidOffset', aboutPosition: 'yes', retryable: false }),
      'rejected',
      610n,
    ],
    [failed({ status: 404, code: 'Http404', aboutPosition: 'maybe', retryable: false }), 'rejected', 610n],
    [failed({ status: 416, code: 'OffsetAhead', aboutPosition: 'yes', retryable: false }), 'recreated', 610n],
  ])('%o: one second before the last message, then a gap with the first batch', (error, reason, to) => {
    const step = advancePosition(at(500), error);
    expect(step).toMatchObject({
      kind: 'restart',
      position: { ask: { kind: 'timestamp', timestampMs: last.lastStoreTimeMs - 1_000 } },
    });
    if (step.kind !== 'restart') return;
    const outcome = batch([610, 611], { nextOffset: 612n });
    const found = deliver(advancePosition(step.position, outcome));
    expect(found.gap).toMatchObject({ reason, from: 500n, to, fromTimeMs: last.lastStoreTimeMs });
    expect(deliver(advancePosition(found.position, batch([612], { nextOffset: 613n }))).gap).toBeUndefined();
  });

  test('lead to a restart from the start, and then to none', () => {
    const gone = failed({ status: 410, aboutPosition: 'yes', retryable: false });
    const first = advancePosition(at(500), gone);
    const second = first.kind === 'restart' ? advancePosition(first.position, gone) : first;
    expect(second).toMatchObject({ kind: 'restart', position: { ask: { kind: 'oldest' } } });
    const third = second.kind === 'restart' ? advancePosition(second.position, gone) : second;
    expect(third).toMatchObject({ kind: 'fail', retryable: false });
  });

  test('do not restart for ever on a server that rejects its own positions', () => {
    let position = at(500);
    const kinds: string[] = [];
    for (let offset = 500; kinds.at(-1) !== 'fail' && offset < 600; offset++) {
      const step = advancePosition(position, failed({ status: 400, aboutPosition: 'yes', retryable: false }));
      kinds.push(step.kind);
      if (step.kind === 'fail') break;
      position = deliver(
        advancePosition(step.position, batch([offset], { nextOffset: BigInt(offset + 1) })),
      ).position;
    }
    expect(kinds.filter((kind) => kind === 'restart')).toHaveLength(defaultBounds.restartsMax);
    expect(kinds.at(-1)).toBe('fail');
  });

  test('begin the counts of failures and stalls anew, and the last restart says if a later start can help', () => {
    const notFound = failed({ status: 404, aboutPosition: 'maybe', retryable: false });
    expect(advancePosition(at(500, { failures: 3, stalls: 2 }), notFound)).toMatchObject({
      position: { failures: 0, stalls: 0, restarts: 1 },
    });
    const worn = at(500, { restarts: defaultBounds.restartsMax });
    expect(advancePosition(worn, notFound)).toMatchObject({ kind: 'fail', retryable: false });
    expect(advancePosition(worn, { ...notFound, aboutPosition: 'yes' })).toMatchObject({ retryable: true });
  });

  test('of a log that lost its tail: offsets that it uses again are new, kept messages are not', () => {
    const before = at(500, { epoch: 'a' });
    const step = advancePosition(
      before,
      failed({ status: 416, code: 'OffsetAhead', aboutPosition: 'yes', epoch: 'a', nextOffset: 490n }),
    );
    if (step.kind !== 'restart') throw new Error(step.kind);
    const outcome = batch([488, 489, 490, 491], { epoch: 'a', nextOffset: 492n });
    const found = deliver(advancePosition(step.position, outcome));
    expect(delivered(found, outcome)).toEqual([490n, 491n]);
    expect(found.gap).toMatchObject({ reason: 'lost_tail' });
  });

  test('of another epoch, although an answer between them has named none', () => {
    const { position } = deliver(
      advancePosition(at(500, { epoch: 'a' }), batch([500], { nextOffset: 501n })),
    );
    expect(advancePosition(position, batch([501], { epoch: 'b', nextOffset: 502n }))).toMatchObject({
      kind: 'restart',
      position: { epoch: 'b' },
    });
  });

  test('of another epoch: the batch is not used, and the new log is read from its start', () => {
    const step = advancePosition(
      at(500, { epoch: 'a' }),
      batch([501, 502], { epoch: 'b', nextOffset: 503n }),
    );
    expect(step).toMatchObject({
      kind: 'restart',
      position: { epoch: 'b', ask: { kind: 'oldest' }, lastOffset: undefined },
    });
    if (step.kind !== 'restart') return;
    const outcome = batch([3, 501, 502], { epoch: 'b', nextOffset: 503n });
    const found = deliver(advancePosition(step.position, outcome));
    expect(delivered(found, outcome)).toEqual([3n, 501n, 502n]);
    expect(found.gap).toMatchObject({ reason: 'recreated', from: 500n, to: 3n });
  });

  test('give a gap that ends after it begins: with the first later message, not with kept messages', () => {
    const step = advancePosition(at(500, { epoch: 'a' }), batch([501], { epoch: 'b', nextOffset: 502n }));
    if (step.kind !== 'restart') throw new Error(step.kind);
    const gapAfter = (offsets: number[]) =>
      deliver(advancePosition(step.position, batch(offsets, { epoch: 'b' }))).gap;
    const fromTimeMs = startTimeMs + 499_000;
    expect(gapAfter([3, 498, 499, 520, 530])).toMatchObject({ fromTimeMs, toTimeMs: startTimeMs + 520_000 });
    expect(gapAfter([3, 530, 520])).toMatchObject({ toTimeMs: startTimeMs + 520_000 });
    expect(gapAfter([3, 498, 499])).toMatchObject({ fromTimeMs, toTimeMs: fromTimeMs });
    expect(gapAfter([510, 520])).toMatchObject({ fromTimeMs, toTimeMs: startTimeMs + 510_000 });
  });

  test('on a server with a clock that is behind lead to its start, not to its tail', () => {
    const gone = advancePosition(at(500), failed({ status: 410, aboutPosition: 'yes', retryable: false }));
    if (gone.kind !== 'restart') throw new Error(gone.kind);
    expect(advancePosition(gone.position, batch([], { clamped: 'future', nextOffset: 700n }))).toMatchObject({
      kind: 'restart',
      position: { ask: { kind: 'oldest' }, gap: { reason: 'expired' } },
    });
  });

  test('by time that are older than the retention are a gap', () => {
    const position: Position = { ...startPosition({ kind: 'timestamp', timestampMs: startTimeMs }, last) };
    const step = deliver(advancePosition(position, batch([700], { clamped: 'retention', nextOffset: 701n })));
    expect(step.gap).toMatchObject({ reason: 'expired', from: 499n, to: 700n });
    // An offset says by itself where the read began.
    expect(deliver(advancePosition(at(500), batch([500], { clamped: 'retention' }))).gap).toBeUndefined();
  });
});
