import type { NameTable } from '../decode/message-columns.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, setCheckpoint } from './checkpoint.ts';
import { createCommitQueue } from './commit-queue.ts';
import type { Committer } from './committer.ts';
import { createChunkFiller } from './fill-chunks.ts';
import type { PreparedWrite } from './landing-ledger.ts';
import { createLandingRoom } from './landing-room.ts';
import { type LandInput, type LandResult, planLanding, type Write } from './plan-landing.ts';
import { createReusableCommitter } from './reusable-committer.ts';

/**
 * Lands each batch together with its checkpoint, so a crash cannot lose or double a message. Rows are copied
 * at once and committed in the background. While one transaction is written, the next batch is decoded.
 * Waiting batches share one transaction.
 */
export interface Landing {
  /**
   * Lands a batch. Landing the same batch again changes nothing.
   * @param batch the batch, which is copied before this returns. Or a function that makes the batch, and
   *   returns undefined if there is none. The function is called in its turn, as soon as there is room. The
   *   transaction before may still be written then, so decoding and writing overlap. The batch is copied
   *   right after the call, so the next function can use the same buffers
   * @returns when the result is durable
   * @throws StaleOwnerError if another worker has taken the shard; then nothing has landed
   * @throws TransientError if the file could not be written (a full disk); then nothing has landed
   */
  push<Made extends LandInput | undefined = LandInput>(
    batch: LandInput | (() => Made),
  ): Promise<LandResult | Extract<Made, undefined>>;
  /**
   * Runs `work` between two batches. `work` adds unlisted batches to the ledger and returns the last id. No
   * batch lands meanwhile, and later batches have higher ids.
   */
  listBatches(work: () => Promise<number>): Promise<void>;
  /** Runs `work` between two transactions. Batches that are pushed meanwhile land afterwards. */
  pause<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits until all pushed batches are settled, and closes the connection. */
  drain(): Promise<void>;
  /** Closes the connection when no commit runs on it. The next commit opens another one. */
  retire(): void;
}

interface LandingOptions {
  names: NameTable;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  lastBatchId: number;
  clock: Clock;
  logger: Logger;
  /** Creates a committer of the open file. Called again after every failure. */
  openCommitter(): Promise<Committer>;
  /** Converts an error of DuckDB into one of our errors. */
  failure(error: unknown): Error;
}

export function createLanding(options: LandingOptions): Landing {
  const { names, clock, logger, failure } = options;
  const filler = createChunkFiller();
  const room = createLandingRoom();
  const committer = createReusableCommitter({
    names,
    open: options.openCommitter,
    onCloseFailed: (error) => logger.warn({ error: failure(error).message }, 'land.close-failed'),
  });
  /** The checkpoint after all waiting batches. */
  const expected = new Map(options.checkpoints);
  const queue = createCommitQueue({
    checkpoints: options.checkpoints,
    committer,
    room,
    clock,
    logger,
    failure,
    release: (write) => filler.release(write.chunks),
    onReset: (origin, stored) => setCheckpoint(expected, origin, stored),
  });
  let nextBatchId = options.lastBatchId + 1;
  let isListing = false;
  /** Settles when the earlier push has had its turn, so that batches stay in order. */
  let turn: Promise<void> = Promise.resolve();

  async function push<Made extends LandInput | undefined = LandInput>(
    batch: LandInput | (() => Made),
  ): Promise<LandResult | Extract<Made, undefined>> {
    if (typeof batch !== 'function') return land(batch);
    turn = turn.then(room.wait);
    await turn;
    const made = batch();
    return made === undefined ? (made as Extract<Made, undefined>) : land(made);
  }

  async function land(input: LandInput): Promise<LandResult> {
    const before = expected.get(input.origin);
    // The batch cannot land now. Its id would be lower than the ids that are being listed, so later stages
    // would skip it.
    if (isListing) return { kind: 'out-of-step', expectedOffset: before?.nextOffset };
    const plan = planLanding(before, input, input.unlisted?.batchId ?? nextBatchId, clock.now());
    const { result } = plan;
    if (result.kind === 'landed' && (result.outOfOrder > 0 || result.beyond > 0)) {
      const { outOfOrder, beyond } = result;
      logger.warn({ origin: input.origin, outOfOrder, beyond }, 'land.out-of-order');
    }
    const write = plan.kind === 'write' ? prepare(input.origin, plan.write) : undefined;
    if (write) expected.set(input.origin, write.after);
    return queue.add({ origin: input.origin, before, write, result });
  }

  function prepare(origin: string, write: Write): PreparedWrite {
    const { content } = write;
    if (content === undefined) return { ...write, origin, batchId: 0, chunks: [], rejected: [] };
    const batchId = write.unlisted?.batchId ?? nextBatchId++;
    const chunks = filler.fill(content.columns, content.start, content.end, batchId);
    // Copied, because the bytes of rejected messages are views of the decoder's buffer.
    const rejected = content.rejected.map((message) => ({ ...message, bytes: message.bytes.slice() }));
    return { ...write, origin, batchId, chunks, rejected };
  }

  return {
    push,
    listBatches(work) {
      const listed = turn.then(async () => {
        isListing = true;
        try {
          await queue.whenEmpty();
          nextBatchId = Math.max(nextBatchId, (await work()) + 1);
        } finally {
          isListing = false;
        }
      });
      turn = listed.catch(() => undefined);
      return listed;
    },
    pause: queue.pause,
    async drain() {
      await queue.whenEmpty();
      committer.retire();
    },
    retire: committer.retire,
  };
}
