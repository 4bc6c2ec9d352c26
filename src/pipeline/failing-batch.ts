import { type Ask, sameAsk } from '../client/position.ts';
import { limits } from '../contract/wire-limits.ts';

/**
 * A batch that fails to land: its position, the number of failures in a row, and the reduced number of
 * messages for each read.
 */
export interface FailingBatch {
  ask: Ask;
  failures: number;
  messagesMax: number;
}

const FAILURES_MAX = 3;
const SHRINK_FACTOR = 10;

/**
 * A batch that fails to land three times is read again with a tenth of its size, down to one message. This
 * message is then set aside, so that the messages after it can land.
 * @returns `before` if the batch is not the cause of the failure
 */
export function noteBatchFailure(
  before: FailingBatch | undefined,
  ask: Ask,
  errorCode: string,
): FailingBatch | undefined {
  if (!isBatchFailure(errorCode)) return before;
  const messagesMax = before?.messagesMax ?? limits.messagesPerReadMax;
  const failures = before && sameAsk(before.ask, ask) ? before.failures + 1 : 1;
  if (failures < FAILURES_MAX || messagesMax === 1) return { ask, failures, messagesMax };
  return { ask, failures: 0, messagesMax: Math.max(1, Math.floor(messagesMax / SHRINK_FACTOR)) };
}

/** True if the batch may be the cause of a failure. False for a full disk or a lost shard. */
export function isBatchFailure(errorCode: string): boolean {
  return errorCode === 'WarehouseFailure' || errorCode === 'Unexpected';
}

/** After a success the size of batches grows again. Undefined when it is back at its full size. */
export function noteBatchSuccess(before: FailingBatch | undefined): FailingBatch | undefined {
  if (!before || before.messagesMax * SHRINK_FACTOR >= limits.messagesPerReadMax) return undefined;
  return { ...before, failures: 0, messagesMax: before.messagesMax * SHRINK_FACTOR };
}

/** True if a read of one message has failed so often that this message must be set aside. */
export function isHopeless(stuck: FailingBatch | undefined, ask: Ask): boolean {
  return (
    stuck !== undefined &&
    stuck.messagesMax === 1 &&
    stuck.failures >= FAILURES_MAX &&
    sameAsk(stuck.ask, ask)
  );
}
