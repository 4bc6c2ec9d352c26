import type { NameTable } from '../decode/message-columns.ts';
import { StaleOwnerError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, samePlace } from './checkpoint.ts';
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
import { keepCommitter } from './reusable-committer.ts';

/**
 * Lands batches and their checkpoint together, so that a crash between the two can neither lose nor double a message.
 * The rows are copied at once and committed in the background: while one transaction is written, the next batch is
 * decoded, and batches that have piled up share one transaction.
 */
export interface Landing {
  /**
   * Lands a batch. Landing the same batch again changes nothing.
   * @param batch the batch, which is copied before this returns; or a function that makes it (or finds that there is
   *   nothing to land), which is called in turn and once there is room. Its buffers are free again right after, and it
   *   runs while the transaction before it is written, which is the fastest way
   * @returns once what it says is durable
   * @throws StaleOwnerError when another worker has taken the shard; nothing has landed then
   * @throws TransientError when the file could not be written (a full disk); nothing has landed then
   */
  push<Made extends LandInput | undefined = LandInput>(
    batch: LandInput | (() => Made),
  ): Promise<LandResult | Extract<Made, undefined>>;
  /**
   * Records a gap and moves the checkpoint to its end, where that is known. Recording it again changes nothing.
   * @param logEpoch the log that is read from now on
   */
  recordGap(origin: string, gap: GapInput, logEpoch: string | undefined): Promise<GapResult>;
  /**
   * Runs `work`, which enters held batches in the ledger, between two batches: none is under way, and those that come after it
   * have higher ids than the last that `work` has entered, which it returns.
   */
  admit(work: () => Promise<number>): Promise<void>;
  /** Waits until everything that was pushed is settled, and gives the connection back. */
  drain(): Promise<void>;
  /** Gives the connection back as soon as no commit runs on it; the next commit opens another. */
  retire(): void;
}

export interface LandingOptions {
  names: NameTable;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  lastBatchId: number;
  clock: Clock;
  logger: Logger;
  /** A committer of the open file; asked for again after every failure. */
  openCommitter(): Promise<Committer>;
  /** Turns what DuckDB throws into one of our errors. */
  failure(error: unknown): Error;
}

/** Batches whose rows are held in memory at a time: one group waits while the one before is written. */
const HELD_MAX = 2;
const GROUP_MAX = 2;

type Result = LandResult | GapResult;
interface Entry {
  origin: string;
  /** Where the file must stand for the plan to hold. */
  before: Checkpoint | undefined;
  write: PreparedWrite | undefined;
  result: Result;
  settle: PromiseWithResolvers<Result>;
}

export function createLanding(options: LandingOptions): Landing {
  const { names, clock, logger } = options;
  const filler = createChunkFiller();
  /** Where the file stands, and where it will stand once everything that waits has been written. */
  const stored = new Map(options.checkpoints);
  const expected = new Map(options.checkpoints);
  let nextBatchId = options.lastBatchId + 1;
  const waiting: Entry[] = [];
  let held = 0;
  /** A transaction is between its first statement and COMMIT: decoding now would hold each of its steps up. */
  let isOpening = false;
  let isAdmitting = false;
  /** Settles when the push before has had its turn, so that batches stay in the order in which they were pushed. */
  let turn: Promise<void> = Promise.resolve();
  let onRoom: (() => void) | undefined;
  const committer = keepCommitter({
    names,
    open: options.openCommitter,
    onCloseFailed: (error) => logger.warn({ reason: options.failure(error).message }, 'land.close_failed'),
  });
  let running: Promise<void> | undefined;

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
    // Its id would be lower than those that are being admitted, and later stages would pass it over.
    if (isAdmitting) return { kind: 'out-of-step', expectedOffset: before?.nextOffset };
    const plan = planLanding(before, input, input.held?.batchId ?? nextBatchId, clock.now());
    const { result } = plan;
    if (result.kind === 'landed' && (result.outOfOrder > 0 || result.beyond > 0)) {
      const { outOfOrder, beyond } = result;
      logger.warn({ origin: input.origin, outOfOrder, beyond }, 'land.out_of_order');
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
    const batchId = write.held?.batchId ?? nextBatchId++;
    const chunks = filler.fill(content.columns, content.start, content.end, batchId);
    // Bytes of rejected messages are views of the decoder's buffer.
    const rejected = content.rejected.map((message) => ({ ...message, bytes: message.bytes.slice() }));
    return { ...write, origin, batchId, chunks, rejected };
  }

  async function run(): Promise<void> {
    // Lets what is pushed in the same turn share a transaction.
    await undefined;
    while (waiting.length > 0) await settleGroup(takeGroup());
    running = undefined;
  }

  /** The first that wait, as far as each stands on the one before. */
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
      if (!samePlace(stored.get(first.origin), first.before)) return refuse(group);
      if (first.write !== undefined && !(await commit(group, giveUpRoom))) return refuse(group);
      for (const { settle, result } of group) settle.resolve(result);
    } catch (error) {
      if (group.length > 1 && isHeld && !(error instanceof StaleOwnerError)) {
        // One of them may be what cannot be written: it must not take the others with it.
        logger.warn({ batches: group.length, reason: options.failure(error).message }, 'land.group_failed');
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

  /** @returns false where the file stands elsewhere than the group assumed; nothing was written */
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

  /** What waits behind a batch that has not landed will be refused at its turn; what comes next is planned anew. */
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
    admit(work) {
      const admitted = turn.then(async () => {
        isAdmitting = true;
        try {
          while (running !== undefined) await running;
          nextBatchId = Math.max(nextBatchId, (await work()) + 1);
        } finally {
          isAdmitting = false;
        }
      });
      turn = admitted.catch(() => undefined);
      return admitted;
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
