import type { DuckDBConnection } from '@duckdb/node-api';
import type { Offset } from '../contract/offset.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type Arrangement, arrange, offsetAt } from './select-new-messages.ts';

/** A batch as it was read, and where it lies in its log. */
export interface LandInput {
  /** `stream`, or the name of an import. */
  origin: string;
  /** In any order, with what landed before or not. */
  columns: MessageColumns;
  /** The position that was asked for; undefined where the read began at the log's start or at a time. */
  fromOffset: Offset | undefined;
  /** Where to read on. */
  nextOffset: Offset;
  logEpoch: string | undefined;
  /** What could not be read before this batch. It is recorded with the batch and lets it begin elsewhere. */
  gap?: GapInput | undefined;
  held?: HeldBatch | undefined;
}

/**
 * Keeps a batch out of the ledger, and so out of sight of every later stage, until what it is part of is whole and admitted
 * (`Shard.admit`).
 */
export interface HeldBatch {
  /** Beyond every id that the ledger gives meanwhile, so that later stages reach it only after it has been admitted. */
  batchId: number;
  /** What is written of it instead of its row of the ledger, in the same transaction. */
  note(connection: DuckDBConnection): Promise<void>;
}

/** A stretch of the stream that could not be read. */
export interface GapInput {
  /**
   * expired: retention took it. rejected: the server no longer knows the position. recreated: the log is another one.
   * lost_tail: the log no longer holds its own newest messages.
   */
  reason: 'expired' | 'rejected' | 'recreated' | 'lost_tail';
  from: Offset | undefined;
  to: Offset | undefined;
  fromTimeMs: UtcMs | undefined;
  toTimeMs: UtcMs | undefined;
}

/** What became of a batch. Whatever it says, it says of what is durable. */
export type LandResult = LandedResult | { kind: 'already-landed'; nextOffset: Offset } | RefusedResult;

export interface LandedResult {
  kind: 'landed';
  /** Undefined where nothing was in it and only the position moved. */
  batchId: number | undefined;
  nextOffset: Offset;
  messages: number;
  quarantined: number;
  /** Messages left out: landed before, twice in the batch, or beyond `nextOffset` (they come again). */
  delivered: number;
  repeated: number;
  beyond: number;
  /** Messages that came after one with a higher offset. */
  outOfOrder: number;
  lastStoreTimeMs: UtcMs | undefined;
}

/** Nothing has landed: read again from where the checkpoint is. */
export type RefusedResult =
  /** The batch begins beyond the checkpoint: what lies between would be lost. */
  | { kind: 'out-of-step'; expectedOffset: Offset | undefined }
  /** The batch belongs to another log than the checkpoint, and was not read as the start of a new one. */
  | { kind: 'recreated'; logEpoch: string };

/** What became of a gap that was reported alone. */
export type GapResult =
  | { kind: 'recorded'; nextOffset: Offset | undefined }
  /** A batch before it has not landed, so that it was not recorded either. */
  | { kind: 'out-of-step'; expectedOffset: Offset | undefined };

/** What one batch, or one gap, does to the file. */
export interface Write {
  before: Checkpoint | undefined;
  after: Checkpoint | undefined;
  gap: GapInput | undefined;
  fromOffset: Offset | undefined;
  /** What lands; undefined where nothing is in it. */
  content: Arrangement | undefined;
  held: HeldBatch | undefined;
}

export type Plan = { kind: 'write'; write: Write; result: LandResult } | { kind: 'none'; result: LandResult };

/**
 * Decides what a batch does to a file that stands at `before`. Pure.
 * The position never goes back in a log, a message never lands twice, and none is skipped without a gap that says so.
 */
export function planLanding(
  before: Checkpoint | undefined,
  input: LandInput,
  batchId: number,
  nowMs: UtcMs,
): Plan {
  const { gap, nextOffset } = input;
  const isOtherLog =
    before?.logEpoch !== undefined && input.logEpoch !== undefined && before.logEpoch !== input.logEpoch;
  if (isOtherLog && gap?.reason !== 'recreated') {
    return { kind: 'none', result: { kind: 'recreated', logEpoch: before.logEpoch! } };
  }
  // A gap that is reported again after its batch has landed: the log is the new one already.
  const isKnownLog = before?.logEpoch !== undefined && before.logEpoch === input.logEpoch;
  const restarts = gap?.reason === 'recreated' && !isKnownLog;
  if (before !== undefined && gap === undefined) {
    const from = input.fromOffset ?? firstOffset(input.columns) ?? nextOffset;
    if (from > before.nextOffset) {
      return { kind: 'none', result: { kind: 'out-of-step', expectedOffset: before.nextOffset } };
    }
  }
  const lastOffset = restarts ? undefined : lastOffsetAfter(before, gap);
  const found = arrange(input.columns, { lastOffset, nextOffset });
  const isReplay =
    before !== undefined &&
    !restarts &&
    input.fromOffset !== undefined &&
    input.fromOffset < before.nextOffset &&
    nextOffset <= before.nextOffset;
  // Of what cannot be placed nothing tells whether it came before; in a replay it did.
  if (isReplay) found.rejected = found.rejected.filter(({ offset }) => offset !== undefined);
  const messages = found.end - found.start;
  const isEmpty = messages === 0 && found.rejected.length === 0;
  const movedTo =
    before !== undefined && gap === undefined && before.nextOffset > nextOffset
      ? before.nextOffset
      : nextOffset;
  const learnsEpoch = input.logEpoch !== undefined && before?.logEpoch === undefined;
  if (isEmpty && gap === undefined && before?.nextOffset === movedTo && !learnsEpoch) {
    return { kind: 'none', result: { kind: 'already-landed', nextOffset: movedTo } };
  }
  const after: Checkpoint = {
    origin: input.origin,
    logEpoch: restarts ? input.logEpoch : (input.logEpoch ?? before?.logEpoch),
    nextOffset: movedTo,
    lastOffset: later(lastOffset, found.lastOffset),
    lastStoreTimeMs: later(restarts ? undefined : before?.lastStoreTimeMs, found.lastStoreTimeMs),
    batchId: isEmpty || input.held ? (before?.batchId ?? 0) : batchId,
    updatedAtMs: nowMs,
  };
  return {
    kind: 'write',
    write: {
      before,
      after,
      gap,
      fromOffset: input.fromOffset,
      content: isEmpty ? undefined : found,
      held: input.held,
    },
    result: {
      kind: 'landed',
      batchId: isEmpty ? undefined : batchId,
      nextOffset: movedTo,
      messages,
      quarantined: found.rejected.length,
      delivered: found.delivered,
      repeated: found.repeated,
      beyond: found.beyond,
      outOfOrder: found.outOfOrder,
      lastStoreTimeMs: after.lastStoreTimeMs,
    },
  };
}

/**
 * Decides what a gap alone does: it is recorded, and the checkpoint moves to its end where that is known. After
 * `recreated` without an end it stands at the new log's start.
 */
export function planGap(
  before: Checkpoint | undefined,
  origin: string,
  gap: GapInput,
  logEpoch: string | undefined,
  nowMs: UtcMs,
): Write {
  const restarts = gap.reason === 'recreated' && !(logEpoch !== undefined && before?.logEpoch === logEpoch);
  const kept = restarts ? undefined : before;
  const nextOffset = restarts
    ? (gap.to ?? 0n)
    : gap.reason === 'lost_tail'
      ? (gap.to ?? before?.nextOffset)
      : later(before?.nextOffset, gap.to);
  const after: Checkpoint | undefined =
    nextOffset === undefined
      ? undefined
      : {
          origin,
          logEpoch: restarts ? logEpoch : (logEpoch ?? before?.logEpoch),
          nextOffset,
          lastOffset: restarts ? undefined : lastOffsetAfter(before, gap),
          lastStoreTimeMs: kept?.lastStoreTimeMs,
          batchId: before?.batchId ?? 0,
          updatedAtMs: nowMs,
        };
  return { before, after, gap, fromOffset: undefined, content: undefined, held: undefined };
}

/** The highest offset that a log still vouches for: after a lost tail, offsets from its end on may be given anew. */
function lastOffsetAfter(before: Checkpoint | undefined, gap: GapInput | undefined): Offset | undefined {
  const last = before?.lastOffset;
  if (gap?.reason !== 'lost_tail' || gap.to === undefined || last === undefined || last < gap.to) return last;
  return gap.to === 0n ? undefined : gap.to - 1n;
}

function firstOffset(columns: MessageColumns): Offset | undefined {
  return columns.count > 0 ? offsetAt(columns, 0) : columns.rejected[0]?.offset;
}

function later<Value extends bigint | number>(
  left: Value | undefined,
  right: Value | undefined,
): Value | undefined {
  return left === undefined || (right !== undefined && right > left) ? right : left;
}
