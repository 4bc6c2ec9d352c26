import type { NameTable } from '../decode/message-columns.ts';
import { StaleOwnerError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, isSamePosition } from './checkpoint.ts';
import type { Committer } from './committer.ts';
import { createChunkFiller } from './fill-chunks.ts';
import type { PreparedWrite } from './landing-ledger.ts';
import {
  type GapInput,
  type GapResult,
  type LandInput,
  type LandResult,
  planGap,
  planLanding,
  type Write,
} from './plan-landing.ts';
import { createReusableCommitter } from './reusable-committer.ts';

/**
 * Lands each batch together with its checkpoint, so a crash cannot lose or double a message. Rows are copied at once and committed in the
 * background. While one transaction is written, the next batch is decoded. Waiting batches share one transaction.
 */
export interface Landing {
  /**
   * Lands a batch. Landing the same batch again changes nothing.
   * @param batch the batch, which is copied before this returns; or a function that makes it, or returns nothing to land. The function is called in
   *   turn, when there is room, while the transaction before is written, which is fastest. Its buffers are free afterwards
   * @returns when the result is durable
   * @throws StaleOwnerError if another worker has taken the shard; then nothing has landed
   * @throws TransientError if the file could not be written (a full disk); then nothing has landed
   */
  push<Made extends LandInput | undefined = LandInput>(
    batch: LandInput | (() => Made),
  ): Promise<LandResult | Extract<Made, undefined>>;
  /**
   * Stores a gap, and moves the checkpoint to its end if that is known. Storing it again changes nothing.
   * @param logEpoch the log that is read from now on
   */
  recordGap(origin: string, gap: GapInput, logEpoch: string | undefined): Promise<GapResult>;
  /**
   * Runs `work` between two batches. `work` adds unlisted batches to the ledger and returns the last id. No batch lands meanwhile, and later
   * batches have higher ids.
   */
  publishToLedger(work: () => Promise<number>): Promise<void>;
  /** Runs `work` between two transactions. Batches that are pushed meanwhile land afterwards. */
  pause<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits until all pushed batches are settled, and closes the connection. */
  drain(): Promise<void>;
  /** Closes the connection when no commit runs on it. The next commit opens another one. */
  retire(): void;
}

export interface LandingOptions {
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

/** The most batches in memory: one group waits while the group before is written. */
const HELD_MAX = 2;
const GROUP_MAX = 2;

type Result = LandResult | GapResult;
interface Entry {
  origin: string;
  /** The checkpoint that the file must have for the plan. */
  before: Checkpoint | undefined;
  write: PreparedWrite | undefined;
  result: Result;
  settle: PromiseWithResolvers<Result>;
}

export function createLanding(options: LandingOptions): Landing {
  const { names, clock, logger } = options;
  const filler = createChunkFiller();
  /** The checkpoint of the file, and the checkpoint after all waiting batches. */
  const stored = new Map(options.checkpoints);
  const expected = new Map(options.checkpoints);
  let nextBatchId = options.lastBatchId + 1;
  const waiting: Entry[] = [];
  let held = 0;
  /** True between the first statement of a transaction and COMMIT. Decoding then would delay each of its steps. */
  let isOpening = false;
  let isAdmitting = false;
  /** Settles when the push before has had its turn, so batches stay in order. */
  let turn: Promise<void> = Promise.resolve();
  let onRoom: (() => void) | undefined;
  const committer = createReusableCommitter({
    names,
    open: options.openCommitter,
    onCloseFailed: (error) => logger.warn({ error: options.failure(error).message }, 'land.close-failed'),
  });
  let running: Promise<void> | undefined;
  /** Settles when the group that is written now is settled. */
  let settling: Promise<void> | undefined;
  /** Settles when groups may be written again. Undefined while they may. */
  let paused: Promise<void> | undefined;

  async function push<Made extends LandInput | undefined = LandInput>(
    batch: LandInput | (() => Made),
  ): Promise<LandResult | Extract<Made, undefined>> {
    if (typeof batch !== 'function') return land(batch);
    turn = turn.then(room);
    await turn;
    const made = batch();
    return made === undefined ? (made as Extract<Made, undefined>) : land(made);
  }

  async function room(): Promise<void> {
    while (held >= HELD_MAX || isOpening) {
      await new Promise<void>((resolve) => {
        onRoom = resolve;
      });
    }
  }

  async function land(input: LandInput): Promise<LandResult> {
    const before = expected.get(input.origin);
    // Its id would be lower than the ids that are being published, so later stages would skip it.
    if (isAdmitting) return { kind: 'out-of-step', expectedOffset: before?.nextOffset };
    const plan = planLanding(before, input, input.unlisted?.batchId ?? nextBatchId, clock.now());
    const { result } = plan;
    if (result.kind === 'landed' && (result.outOfOrder > 0 || result.beyond > 0)) {
      const { outOfOrder, beyond } = result;
      logger.warn({ origin: input.origin, outOfOrder, beyond }, 'land.out-of-order');
    }
    return enqueue(input.origin, before, plan.kind === 'write' ? plan.write : undefined, result);
  }

  function enqueue<Settled extends Result>(
    origin: string,
    before: Checkpoint | undefined,
    planned: Write | undefined,
    result: Settled,
  ): Promise<Settled | Extract<GapResult, { kind: 'out-of-step' }>> {
    const write = planned && prepare(origin, planned);
    if (write?.after) expected.set(origin, write.after);
    const settle = Promise.withResolvers<Result>();
    waiting.push({ origin, before, write, result, settle });
    held++;
    running ??= run();
    return settle.promise as Promise<Settled>;
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

  async function run(): Promise<void> {
    // Batches that are pushed in the same turn share a transaction.
    await undefined;
    while (waiting.length > 0) {
      while (paused !== undefined) await paused;
      settling = settleGroup(takeGroup());
      await settling;
      settling = undefined;
    }
    running = undefined;
  }

  /** The first waiting batches, each of which continues the one before. */
  function takeGroup(): Entry[] {
    let size = 1;
    while (size < Math.min(GROUP_MAX, waiting.length)) {
      const after = waiting[size - 1]!.write?.after;
      if (after === undefined || waiting[size]!.before !== after || !waiting[size]!.write) break;
      size++;
    }
    return waiting.splice(0, size);
  }

  async function settleGroup(group: Entry[]): Promise<void> {
    const first = group[0]!;
    let isHeld = true;
    const giveUpRoom = () => {
      if (!isHeld) return;
      isHeld = false;
      isOpening = false;
      for (const { write } of group) filler.release(write?.chunks ?? []);
      held -= group.length;
      onRoom?.();
    };
    try {
      if (!isSamePosition(stored.get(first.origin), first.before)) return refuse(group);
      if (first.write !== undefined && !(await commit(group, giveUpRoom))) return refuse(group);
      for (const { settle, result } of group) settle.resolve(result);
    } catch (error) {
      if (group.length > 1 && isHeld && !(error instanceof StaleOwnerError)) {
        // One of them can be impossible to write. The others are tried alone.
        logger.warn({ batches: group.length, error: options.failure(error).message }, 'land.group-failed');
        isHeld = false;
        for (const entry of group) await settleGroup([entry]);
        return;
      }
      resetExpected(first.origin);
      for (const { settle } of group) settle.reject(options.failure(error));
    } finally {
      giveUpRoom();
    }
  }

  /** @returns false if the file has another checkpoint than the group assumed; then nothing was written */
  async function commit(group: Entry[], onCommitting: () => void): Promise<boolean> {
    const { origin } = group[0]!;
    const writes = group.map(({ write }) => write!);
    const startMs = performance.now();
    isOpening = true;
    const outcome = await committer.commit(writes, clock.now(), onCommitting);
    if (outcome.kind === 'out-of-step') {
      setCheckpoint(stored, origin, outcome.checkpoint);
      return false;
    }
    const after = writes.at(-1)!.after;
    if (after !== undefined) stored.set(origin, after);
    const messages = writes.reduce(
      (sum, { content }) => sum + (content ? content.end - content.start : 0),
      0,
    );
    const durationMs = Math.round(performance.now() - startMs);
    logger.debug(
      { origin, batches: writes.length, messages, nextOffset: String(after?.nextOffset), durationMs },
      'land.commit',
    );
    return true;
  }

  function refuse(group: Entry[]): void {
    const { origin } = group[0]!;
    resetExpected(origin);
    const expectedOffset = stored.get(origin)?.nextOffset;
    for (const { settle } of group) settle.resolve({ kind: 'out-of-step', expectedOffset });
  }

  /** Batches behind one that has not landed are refused at their turn; later ones are planned again. */
  function resetExpected(origin: string): void {
    setCheckpoint(expected, origin, stored.get(origin));
  }

  return {
    push,
    async recordGap(origin, gap, logEpoch) {
      const before = expected.get(origin);
      const write = planGap(before, origin, gap, logEpoch, clock.now());
      return enqueue(origin, before, write, { kind: 'recorded', nextOffset: write.after?.nextOffset });
    },
    publishToLedger(work) {
      const published = turn.then(async () => {
        isAdmitting = true;
        try {
          while (running !== undefined) await running;
          nextBatchId = Math.max(nextBatchId, (await work()) + 1);
        } finally {
          isAdmitting = false;
        }
      });
      turn = published.catch(() => undefined);
      return published;
    },
    async pause(work) {
      while (paused !== undefined) await paused;
      const { promise, resolve } = Promise.withResolvers<void>();
      paused = promise;
      try {
        await settling;
        return await work();
      } finally {
        paused = undefined;
        resolve();
      }
    },
    async drain() {
      while (running !== undefined) await running;
      committer.retire();
    },
    retire: committer.retire,
  };
}

function setCheckpoint(
  checkpoints: Map<string, Checkpoint>,
  origin: string,
  checkpoint: Checkpoint | undefined,
): void {
  if (checkpoint === undefined) checkpoints.delete(origin);
  else checkpoints.set(origin, checkpoint);
}
