import { StaleOwnerError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, isSamePosition, setCheckpoint } from './checkpoint.ts';
import type { PreparedWrite } from './landing-ledger.ts';
import type { LandingRoom } from './landing-room.ts';
import type { LandResult } from './plan-landing.ts';
import type { ReusableCommitter } from './reusable-committer.ts';

/**
 * Batches and gaps that wait for their transaction, in order. Batches that continue each other share a
 * transaction.
 */
interface CommitQueue {
  /**
   * Adds a planned batch or gap.
   * @returns `result` when it is durable. `out-of-step` if the file does not have the checkpoint that the
   *   plan assumed. Then nothing was written
   */
  add(planned: PlannedCommit): Promise<LandResult>;
  /**
   * Runs `work` between two transactions. Batches and gaps that are added meanwhile are written afterwards.
   */
  pause<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits until the queue is empty and no transaction runs. */
  whenEmpty(): Promise<void>;
}

interface PlannedCommit {
  origin: string;
  /** The checkpoint that the file must have for the plan. */
  before: Checkpoint | undefined;
  /** Undefined if there is nothing to write. */
  write: PreparedWrite | undefined;
  result: LandResult;
}

interface CommitQueueOptions {
  checkpoints: ReadonlyMap<string, Checkpoint>;
  committer: Pick<ReusableCommitter, 'commit'>;
  room: LandingRoom;
  clock: Clock;
  logger: Logger;
  /** Converts an error of DuckDB into one of our errors. */
  failure(error: unknown): Error;
  /** Frees the buffers of a write. */
  release(write: PreparedWrite): void;
  /**
   * Called when batches of an origin could not land. The next batches are then planned from the checkpoint of
   * the file.
   */
  onReset(origin: string, stored: Checkpoint | undefined): void;
}

/** The maximum number of batches of one transaction. */
const GROUP_MAX = 2;

interface Entry extends PlannedCommit {
  settle: PromiseWithResolvers<LandResult>;
}

export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { committer, room, clock, logger, failure, release, onReset } = options;
  /** The checkpoints of the file. */
  const stored = new Map(options.checkpoints);
  const waiting: Entry[] = [];
  let running: Promise<void> | undefined;
  /** Settles when the group that is being written now has landed or failed. */
  let settling: Promise<void> | undefined;
  /** Settles when groups may be written again. Undefined while they may. */
  let paused: Promise<void> | undefined;

  async function settleAll(): Promise<void> {
    // This waits for the end of the turn: batches that are pushed in the same turn share a transaction.
    await Promise.resolve();
    while (waiting.length > 0) {
      while (paused !== undefined) await paused;
      settling = settleGroup(takeGroup(waiting));
      await settling;
      settling = undefined;
    }
    running = undefined;
  }

  async function settleGroup(group: Entry[]): Promise<void> {
    const first = group[0]!;
    let isHeld = true;
    const giveUpRoom = () => {
      if (!isHeld) return;
      isHeld = false;
      for (const { write } of group) if (write) release(write);
      room.giveBack(group.length);
    };
    try {
      if (!isSamePosition(stored.get(first.origin), first.before)) return refuse(group);
      if (first.write !== undefined && !(await commit(group, giveUpRoom))) return refuse(group);
      for (const { settle, result } of group) settle.resolve(result);
    } catch (error) {
      if (group.length > 1 && isHeld && !(error instanceof StaleOwnerError)) {
        // Perhaps only one of the batches cannot be written. So each batch is tried alone.
        logger.warn({ batches: group.length, error: failure(error).message }, 'land.group-failed');
        isHeld = false;
        for (const entry of group) await settleGroup([entry]);
        return;
      }
      onReset(first.origin, stored.get(first.origin));
      for (const { settle } of group) settle.reject(failure(error));
    } finally {
      giveUpRoom();
    }
  }

  /**
   * @returns false if the file does not have the checkpoint that the group assumed; then nothing was written
   */
  async function commit(group: Entry[], onCommitting: () => void): Promise<boolean> {
    const { origin } = group[0]!;
    const writes = group.map(({ write }) => write!);
    const startMs = performance.now();
    room.beginTransaction();
    const outcome = await committer.commit(writes, clock.now(), onCommitting);
    if (outcome.kind === 'out-of-step') {
      setCheckpoint(stored, origin, outcome.checkpoint);
      return false;
    }
    const after = writes.at(-1)!.after;
    stored.set(origin, after);
    const messages = writes.reduce(
      (sum, { content }) => sum + (content ? content.end - content.start : 0),
      0,
    );
    const durationMs = Math.round(performance.now() - startMs);
    logger.debug(
      { origin, batches: writes.length, messages, nextOffset: String(after.nextOffset), durationMs },
      'land.commit',
    );
    return true;
  }

  function refuse(group: Entry[]): void {
    const { origin } = group[0]!;
    const checkpoint = stored.get(origin);
    onReset(origin, checkpoint);
    for (const { settle } of group)
      settle.resolve({ kind: 'out-of-step', expectedOffset: checkpoint?.nextOffset });
  }

  return {
    add(planned) {
      const settle = Promise.withResolvers<LandResult>();
      waiting.push({ ...planned, settle });
      room.take();
      running ??= settleAll();
      return settle.promise;
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
    async whenEmpty() {
      while (running !== undefined) await running;
    },
  };
}

/** Takes the first waiting batches, as long as each continues the batch before it. */
function takeGroup(waiting: Entry[]): Entry[] {
  let size = 1;
  while (size < Math.min(GROUP_MAX, waiting.length)) {
    const after = waiting[size - 1]!.write?.after;
    if (after === undefined || waiting[size]!.before !== after || !waiting[size]!.write) break;
    size++;
  }
  return waiting.splice(0, size);
}
