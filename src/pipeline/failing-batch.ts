import { type Ask, sameAsk } from '../client/position.ts';
import { limits } from '../contract/wire-limits.ts';

/** Where landing has failed, how often in a row, and how many messages are asked for at a time because of it. */
export interface Stuck {
  ask: Ask;
  failures: number;
  messagesMax: number;
}

const FAILURES_MAX = 3;
const SHRINK = 10;

/**
 * A batch that fails to land three times is read again in a tenth of its size, until one message is left: that one is set aside, so
 * that it does not hold everything behind it up.
 * @returns undefined where the failure says nothing of the batch
 */
export function afterFailure(before: Stuck | undefined, ask: Ask, errorCode: string): Stuck | undefined {
  if (!isBatchFailure(errorCode)) return before;
  const messagesMax = before?.messagesMax ?? limits.messagesPerReadMax;
  const failures = before && sameAsk(before.ask, ask) ? before.failures + 1 : 1;
  if (failures < FAILURES_MAX || messagesMax === 1) return { ask, failures, messagesMax };
  return { ask, failures: 0, messagesMax: Math.max(1, Math.floor(messagesMax / SHRINK)) };
}

/** Whether the batch itself may be the reason of a failure; of a full disk or a lost shard it is not. */
export function isBatchFailure(errorCode: string): boolean {
  return errorCode === 'WarehouseFailure' || errorCode === 'Unexpected';
}

/** Batches that land grow back to their full size. */
export function afterSuccess(before: Stuck | undefined): Stuck | undefined {
  if (!before || before.messagesMax * SHRINK >= limits.messagesPerReadMax) return undefined;
  return { ...before, failures: 0, messagesMax: before.messagesMax * SHRINK };
}

/** Whether the one message that is left has to be set aside. */
export function isHopeless(stuck: Stuck | undefined, ask: Ask): boolean {
  return (
    stuck !== undefined &&
    stuck.messagesMax === 1 &&
    stuck.failures >= FAILURES_MAX &&
    sameAsk(stuck.ask, ask)
  );
}
