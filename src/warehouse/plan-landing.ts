import type { DuckDBConnection } from '@duckdb/node-api';
import type { Offset } from '../contract/offset.ts';
import { type MessageColumns, offsetAt } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type NewMessages, selectNewMessages } from './select-new-messages.ts';

/** A batch and its position in the log. */
export interface LandInput {
  /**
   * `stream`, or a name that begins with `import:`, `backfill:` or `archive:`. Each origin has its own
   * checkpoint.
   */
  origin: string;
  /** In any order. Messages that landed before are dropped. */
  columns: MessageColumns;
  /** The requested position; undefined if the read began at the log's start or at a time. */
  fromOffset: Offset | undefined;
  /** The position to read next. */
  nextOffset: Offset;
  logEpoch: string | undefined;
  /** The gap before this batch. It is stored with the batch, which can then begin at another position. */
  gap?: GapInput | undefined;
  unlisted?: UnlistedBatch | undefined;
}

/**
 * A batch that is not in the ledger yet, so later stages do not see it. All batches of a file or archive
 * enter the ledger together (`Shard.listBatches`).
 */
export interface UnlistedBatch {
  /**
   * Larger than all ids that the ledger assigns before the batch is listed. So no later stage passes this id
   * before it can read the batch.
   */
  batchId: number;
  /** Writes a note instead of the ledger row, in the same transaction. */
  note(connection: DuckDBConnection): Promise<void>;
}

/** A range of the stream that could not be read. */
export interface GapInput {
  /**
   * expired: retention deleted the messages. rejected: the server no longer knows the position. recreated:
   * the server has another log. lost_tail: the log has lost its newest messages.
   */
  reason: 'expired' | 'rejected' | 'recreated' | 'lost_tail';
  from: Offset | undefined;
  to: Offset | undefined;
  fromTimeMs: UtcMs | undefined;
  toTimeMs: UtcMs | undefined;
}

/** The result of landing a batch. It is durable. */
export type LandResult = LandedResult | { kind: 'already-landed'; nextOffset: Offset } | RefusedResult;

interface LandedResult {
  kind: 'landed';
  /** Undefined if the batch was empty and only the position moved. */
  batchId: number | undefined;
  nextOffset: Offset;
  messages: number;
  quarantined: number;
  /**
   * The numbers of dropped messages: those that have landed before, those that are twice in the batch, and
   * those beyond `nextOffset`, which come again.
   */
  landedBefore: number;
  repeated: number;
  beyond: number;
  /** Number of messages that came after one with a higher offset. */
  outOfOrder: number;
  lastStoreTimeMs: UtcMs | undefined;
}

/** Nothing has landed. Read again from the checkpoint. */
type RefusedResult =
  /** The batch begins after the checkpoint, so messages between would be lost. */
  | { kind: 'out-of-step'; expectedOffset: Offset | undefined }
  /** The batch belongs to another log than the checkpoint, and was not read as the start of a new one. */
  | { kind: 'recreated'; logEpoch: string };

/** The change of the file by one batch. */
export interface Write {
  before: Checkpoint | undefined;
  after: Checkpoint;
  gap: GapInput | undefined;
  fromOffset: Offset | undefined;
  /** The messages to land; undefined if there are none. */
  content: NewMessages | undefined;
  unlisted: UnlistedBatch | undefined;
}

export type Plan = { kind: 'write'; write: Write; result: LandResult } | { kind: 'none'; result: LandResult };

/**
 * Decides how a batch changes a file with the checkpoint `before`. It changes nothing itself. The position
 * never moves back in a log, a message never lands twice, and no message is skipped without a gap.
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
  // If a gap is reported again after its batch has landed, the checkpoint is in the new log already.
  const isKnownLog = before?.logEpoch !== undefined && before.logEpoch === input.logEpoch;
  const restarts = gap?.reason === 'recreated' && !isKnownLog;
  if (before !== undefined && gap === undefined) {
    const from = input.fromOffset ?? firstOffset(input.columns) ?? nextOffset;
    if (from > before.nextOffset) {
      return { kind: 'none', result: { kind: 'out-of-step', expectedOffset: before.nextOffset } };
    }
  }
  const lastOffset = restarts ? undefined : lastOffsetAfter(before, gap);
  const selected = selectNewMessages(input.columns, { lastOffset, nextOffset });
  const isReplay =
    before !== undefined &&
    !restarts &&
    input.fromOffset !== undefined &&
    input.fromOffset < before.nextOffset &&
    nextOffset <= before.nextOffset;
  // Messages without an offset cannot be compared with the checkpoint. In a replay they have already landed.
  if (isReplay) selected.rejected = selected.rejected.filter(({ offset }) => offset !== undefined);
  const messages = selected.end - selected.start;
  const isEmpty = messages === 0 && selected.rejected.length === 0;
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
    lastOffset: later(lastOffset, selected.lastOffset),
    lastStoreTimeMs: later(restarts ? undefined : before?.lastStoreTimeMs, selected.lastStoreTimeMs),
    batchId: isEmpty || input.unlisted ? (before?.batchId ?? 0) : batchId,
    updatedAtMs: nowMs,
  };
  return {
    kind: 'write',
    write: {
      before,
      after,
      gap,
      fromOffset: input.fromOffset,
      content: isEmpty ? undefined : selected,
      unlisted: input.unlisted,
    },
    result: {
      kind: 'landed',
      batchId: isEmpty ? undefined : batchId,
      nextOffset: movedTo,
      messages,
      quarantined: selected.rejected.length,
      landedBefore: selected.landedBefore,
      repeated: selected.repeated,
      beyond: selected.beyond,
      outOfOrder: selected.outOfOrder,
      lastStoreTimeMs: after.lastStoreTimeMs,
    },
  };
}

/**
 * The highest offset that is still valid. If the log has lost its newest messages, it can assign their
 * offsets a second time.
 */
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
