import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { OFFSET_MAX, type Offset } from '../../contract/offset.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { hasShare } from '../../lib/fair-slots.ts';
import { SECOND_MS } from '../../lib/time.ts';
import { LIVE_ORIGIN } from '../../warehouse/checkpoint.ts';
import type { LakeReader } from './lake-reader.ts';

/** A request waits at most this long for its offset. */
export const AFTER_MS_MAX = 30 * SECOND_MS;
/**
 * The maximum number of requests of a process that wait, because each keeps a connection open. See `hasShare`
 * for one workgroup.
 */
const WAITING_MAX = 500;
const LOOK_EVERY_MS = 200;
const RETRY_AFTER_SECONDS = 5;

/** The parameter of reports that wait for a message. */
export const afterShape = {
  after: z
    .string({ error: 'must be given once' })
    .refine((text) => /^\d{1,20}$/.test(text) && BigInt(text) <= OFFSET_MAX, {
      error: 'must be an offset, such as the lastOffset of the answer to a sender',
    })
    .optional()
    .meta({
      description: `Waits until the message at this offset is in the answer. After ${AFTER_MS_MAX / SECOND_MS} s the answer is 503. A sender gets the offset as \`lastOffset\``,
      example: '1859316117504000001',
    }),
};

let waitingCount = 0;
const waiting = new Map<string, number>();

/**
 * Waits until a generation contains the message at an offset, in days and intervals too.
 * @param options.require called several times a second; it throws if nobody waits for the answer any more, or
 *   if the caller may not have it any more
 * @throws StreamError StorageUnavailable if that takes too long
 */
export async function waitForOffset(
  lake: Pick<LakeReader, 'newestGeneration'>,
  workgroupId: string,
  after: Offset,
  { withinMs = AFTER_MS_MAX, require }: { withinMs?: number; require: () => void },
): Promise<void> {
  const own = waiting.get(workgroupId) ?? 0;
  if (!hasShare(own, waitingCount, WAITING_MAX))
    throw afterUnavailable('too many requests wait for their messages; ask again in a moment');
  waitingCount += 1;
  waiting.set(workgroupId, own + 1);
  try {
    const endMs = performance.now() + withinMs;
    /** The first batch that is known to have the message. */
    let batchId: bigint | undefined;
    for (;;) {
      const commit = (await lake.newestGeneration(workgroupId))?.commit;
      const position = commit?.checkpoints.find(({ origin }) => origin === LIVE_ORIGIN);
      if (commit && position && BigInt(position.nextOffset) > after) {
        batchId ??= BigInt(commit.batchId);
        if (BigInt(commit.rolledUpBatchId) >= batchId) return;
      }
      require();
      if (performance.now() >= endMs) throw lateError(after, withinMs, batchId !== undefined);
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    waitingCount -= 1;
    const left = waiting.get(workgroupId)! - 1;
    if (left > 0) waiting.set(workgroupId, left);
    else waiting.delete(workgroupId);
  }
}

/** @throws StreamError if the caller has closed its connection */
export function requireCaller({ destroyed }: Pick<Socket, 'destroyed'>): void {
  if (destroyed) throw afterUnavailable('the caller has gone');
}

function lateError(after: Offset, withinMs: number, isPublished: boolean): StreamError {
  const missing = isPublished ? 'is stored, but its energy is not computed' : 'is not in the published data';
  return afterUnavailable(
    `after: the message at offset ${after} ${missing} after ${withinMs / SECOND_MS} s; ask again, or see the status of the workgroup (GET status)`,
  );
}

function afterUnavailable(message: string): StreamError {
  return new StreamError('StorageUnavailable', message, { parameter: 'after' }, RETRY_AFTER_SECONDS);
}
