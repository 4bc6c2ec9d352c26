import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Checkpoint } from '../../src/warehouse/checkpoint.ts';
import { type GapInput, type LandInput, type Plan, planLanding } from '../../src/warehouse/plan-landing.ts';
import { batchOf, columnsOf, messagesFrom, NOW_MS } from './batches.ts';

const at = (more: Partial<Checkpoint> = {}): Checkpoint => ({
  origin: 'stream',
  logEpoch: 'log-1',
  nextOffset: 100n,
  lastOffset: 99n,
  lastStoreTimeMs: NOW_MS,
  batchId: 7,
  updatedAtMs: NOW_MS,
  ...more,
});
const gapOf = (more: Partial<GapInput> = {}): GapInput => ({
  reason: 'expired',
  from: 100n,
  to: 500n,
  fromTimeMs: undefined,
  toTimeMs: undefined,
  ...more,
});
const plan = (before: Checkpoint | undefined, input: LandInput): Plan =>
  planLanding(before, input, 8, NOW_MS);

/** The offsets that a plan lands. */
function landing(planned: Plan): number[] {
  if (planned.kind === 'none' || planned.write.content === undefined) return [];
  const { columns, start, end } = planned.write.content;
  return Array.from({ length: end - start }, (_, index) => columns.offset[2 * (start + index)]!);
}
const numbers = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, index) => first + index);

describe('a batch of the same log', () => {
  test('that begins at the checkpoint lands whole', () => {
    const planned = plan(at(), batchOf(100, 10));
    expect(landing(planned)).toEqual(numbers(100, 110));
    expect(planned).toMatchObject({
      write: { after: { nextOffset: 110n, lastOffset: 109n, batchId: 8, logEpoch: 'log-1' } },
      result: { kind: 'landed', batchId: 8, messages: 10, landedBefore: 0, nextOffset: 110n },
    });
  });

  test('that lies before the checkpoint changes nothing and is reported as known', () => {
    expect(plan(at(), batchOf(90, 10))).toEqual({
      kind: 'none',
      result: { kind: 'already-landed', nextOffset: 100n },
    });
  });

  test('that overlaps the checkpoint lands only the messages beyond it', () => {
    const planned = plan(at(), batchOf(95, 10));
    expect(landing(planned)).toEqual(numbers(100, 105));
    expect(planned.result).toMatchObject({ messages: 5, landedBefore: 5, nextOffset: 105n });
  });

  test('that begins beyond the checkpoint is refused, so that nothing is skipped', () => {
    expect(plan(at(), batchOf(101, 10))).toEqual({
      kind: 'none',
      result: { kind: 'out-of-step', expectedOffset: 100n },
    });
  });

  test('that begins beyond it behind a gap lands, and moves the checkpoint over the gap', () => {
    const planned = plan(at(), batchOf(500, 10, { gap: gapOf() }));
    expect(landing(planned)).toEqual(numbers(500, 510));
    expect(planned).toMatchObject({ write: { gap: { to: 500n }, after: { nextOffset: 510n } } });
  });

  test('that is empty moves the position, without a batch', () => {
    expect(plan(at(), { ...batchOf(100, 0), nextOffset: 120n })).toMatchObject({
      write: { after: { nextOffset: 120n, lastOffset: 99n, batchId: 7 }, content: undefined },
      result: { kind: 'landed', batchId: undefined, messages: 0, nextOffset: 120n },
    });
  });

  test('that is empty and does not move the position changes nothing', () => {
    expect(plan(at(), batchOf(100, 0)).kind).toBe('none');
  });

  test('never takes the position back', () => {
    const planned = plan(at(), {
      ...batchOf(100, 5),
      nextOffset: 60n,
      columns: columnsOf(messagesFrom(100, 5)),
    });
    expect(planned.kind === 'write' ? planned.write.after?.nextOffset : 100n).toBe(100n);
  });

  test('is the first batch, at any beginning', () => {
    const planned = plan(undefined, batchOf(5_000, 3));
    expect(landing(planned)).toEqual([5000, 5001, 5002]);
    expect(planned).toMatchObject({ write: { before: undefined, after: { nextOffset: 5_003n } } });
  });
});

describe('a server that breaks the order', () => {
  const broken = (offsets: number[], nextOffset: number): LandInput =>
    batchOf(100, 0, {
      columns: columnsOf(offsets.map((offset) => messagesFrom(offset, 1)[0]!)),
      nextOffset: BigInt(nextOffset),
    });

  test('messages out of order land in order, and are counted', () => {
    const planned = plan(at(), broken([100, 103, 101, 102, 104], 105));
    expect(landing(planned)).toEqual(numbers(100, 105));
    expect(planned.result).toMatchObject({ outOfOrder: 2, messages: 5, nextOffset: 105n });
  });

  test('a repeated message lands once', () => {
    const planned = plan(at(), broken([100, 101, 101, 102], 103));
    expect(landing(planned)).toEqual([100, 101, 102]);
    expect(planned.result).toMatchObject({ repeated: 1 });
  });

  test('an old offset among new ones counts as landed', () => {
    const planned = plan(at(), broken([100, 12, 101], 102));
    expect(landing(planned)).toEqual([100, 101]);
    expect(planned.result).toMatchObject({ landedBefore: 1, outOfOrder: 1 });
  });

  test('an offset far ahead does not move the checkpoint: its message lands when the log reaches it', () => {
    const first = plan(at(), broken([100, 4_000_000, 101], 102));
    expect(landing(first)).toEqual([100, 101]);
    expect(first).toMatchObject({
      write: { after: { nextOffset: 102n, lastOffset: 101n } },
      result: { beyond: 1, outOfOrder: 1 },
    });
    const after = first.kind === 'write' ? first.write.after : undefined;
    expect(landing(plan(after, batchOf(102, 3)))).toEqual([102, 103, 104]);
  });

  test('positions that are numbers of another kind hide no message', () => {
    const planned = plan(undefined, broken([5_000, 5_001], 3));
    expect(landing(planned)).toEqual([5_000, 5_001]);
    expect(planned.result).toMatchObject({ beyond: 0, nextOffset: 3n });
  });
});

describe('messages that could not be read', () => {
  const rejected = (offset: bigint | undefined) => ({
    offset,
    reason: 'malformed',
    detail: 'x',
    bytes: Uint8Array.of(1),
  });

  test('are bounded by the same offsets as other messages', () => {
    const input = batchOf(95, 10, {
      columns: columnsOf(messagesFrom(95, 10), [97n, 103n, 9_999n, undefined].map(rejected)),
    });
    const planned = plan(at(), input);
    expect(planned.result).toMatchObject({ quarantined: 2, landedBefore: 6, beyond: 1 });
  });

  test('move the position if there is no other message', () => {
    const input = batchOf(100, 0, { columns: columnsOf([], [rejected(100n)]), nextOffset: 101n });
    expect(plan(at(), input)).toMatchObject({
      write: { after: { nextOffset: 101n, lastOffset: 100n } },
      result: { quarantined: 1, messages: 0, batchId: 8 },
    });
  });

  test('without an offset are not kept twice when their batch is replayed', () => {
    const input = batchOf(90, 10, { columns: columnsOf(messagesFrom(90, 10), [rejected(undefined)]) });
    expect(plan(at(), input)).toMatchObject({ result: { kind: 'already-landed' } });
  });
});

describe('a log that was recreated', () => {
  test('is noticed by its epoch, and nothing of it lands at a position of the old one', () => {
    expect(plan(at(), batchOf(100, 10, { logEpoch: 'log-2' }))).toEqual({
      kind: 'none',
      result: { kind: 'recreated', logEpoch: 'log-1' },
    });
    expect(plan(at(), batchOf(100, 10, { logEpoch: 'log-2', gap: gapOf() })).result).toMatchObject({
      kind: 'recreated',
    });
  });

  const restart = batchOf(5, 10, { logEpoch: 'log-2', gap: gapOf({ reason: 'recreated', to: 5n }) });

  test('begins a new log with a gap, and low offsets are new messages', () => {
    const planned = plan(at(), restart);
    expect(landing(planned)).toEqual(numbers(5, 15));
    expect(planned).toMatchObject({
      write: { after: { logEpoch: 'log-2', nextOffset: 15n, lastOffset: 14n }, gap: { reason: 'recreated' } },
    });
  });

  test('lands once if the batch with the gap arrives twice', () => {
    const first = plan(at(), restart);
    const after = first.kind === 'write' ? first.write.after : undefined;
    expect(landing(plan(after, restart))).toEqual([]);
  });

  test('without epochs begins anew too', () => {
    const planned = plan(at({ logEpoch: undefined }), { ...restart, logEpoch: undefined });
    expect(landing(planned)).toEqual(numbers(5, 15));
  });
});

test('after a lost tail, offsets that are given anew are new messages', () => {
  const gap = gapOf({ reason: 'lost_tail', from: 100n, to: 80n });
  const planned = plan(at(), batchOf(70, 30, { gap }));
  expect(landing(planned)).toEqual(numbers(80, 100));
  expect(planned).toMatchObject({ write: { after: { nextOffset: 100n, lastOffset: 99n } } });
});

test('the epoch of a log is stored when an answer has it, and kept when an answer lacks it', () => {
  const learnt = plan(at({ logEpoch: undefined }), batchOf(100, 0));
  expect(learnt).toMatchObject({ write: { after: { logEpoch: 'log-1' } } });
  const kept = plan(at(), batchOf(100, 1, { logEpoch: undefined }));
  expect(kept).toMatchObject({ write: { after: { logEpoch: 'log-1' } } });
});

describe('a gap without messages', () => {
  test('moves the checkpoint to the end of the read', () => {
    expect(plan(at(), batchOf(500, 0, { gap: gapOf() }))).toMatchObject({
      write: { after: { nextOffset: 500n, lastOffset: 99n, batchId: 7 }, content: undefined },
      result: { kind: 'landed', batchId: undefined, messages: 0 },
    });
  });

  test('to a recreated log forgets the positions of the old one', () => {
    const gap = gapOf({ reason: 'recreated', to: undefined });
    const planned = plan(at(), batchOf(0, 0, { logEpoch: 'log-2', gap }));
    const after = { logEpoch: 'log-2', nextOffset: 0n, lastOffset: undefined, lastStoreTimeMs: undefined };
    expect(planned).toMatchObject({ write: { after } });
  });
});

test('for any repeated reads and any division into batches, each message lands once', () => {
  const step = fc.record({
    back: fc.nat(20),
    count: fc.nat(15),
    shuffle: fc.boolean(),
    ahead: fc.nat(3),
    repeat: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let checkpoint: Checkpoint | undefined = at({ nextOffset: 0n, lastOffset: undefined });
      const landed: number[] = [];
      for (const { back, count, shuffle, ahead, repeat } of steps) {
        const first = Math.max(0, Number(checkpoint!.nextOffset) - back + ahead);
        const offsets = numbers(first, first + count);
        if (shuffle) offsets.reverse();
        if (repeat && offsets.length > 0) offsets.push(offsets[0]!);
        const planned = plan(
          checkpoint,
          batchOf(first, count, {
            columns: columnsOf(offsets.map((offset) => ({ offset: BigInt(offset) }))),
          }),
        );
        landed.push(...landing(planned));
        if (planned.kind === 'write') checkpoint = planned.write.after;
      }
      expect(landed).toEqual(numbers(0, Number(checkpoint!.nextOffset)));
    }),
  );
});
