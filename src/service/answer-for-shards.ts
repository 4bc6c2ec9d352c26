import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import type { OperationName } from '../pipeline/operations.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Operations that change what is rolled up or published. */
const CHANGING: ReadonlySet<OperationName> = new Set([
  'retry',
  'upload',
  'correct',
  'importStart',
  'importStop',
  'backfillStart',
  'backfillStop',
  'backfillCancel',
]);
/** Operations that wait until a commit of the bucket has what they stored. */
const COMMITTING: ReadonlySet<OperationName> = new Set(['upload', 'correct', 'importState']);
/** Operations that start a job, and the operation that returns its state. */
const JOBS = { importStart: 'importState', backfillStart: 'backfillState' } as const;
const LOOK_EVERY_MS = 500;

interface ShardCalls {
  /** Opens the shard if nobody has it open. @returns false if it cannot be opened here */
  wake(workgroupId: string): Promise<boolean>;
  /** Data of a workgroup was stored. */
  noteChange(workgroupId: string): void;
  /**
   * Announces a new commit of the bucket before the answer, so that reports on all machines show what was
   * acknowledged.
   */
  noteCommit?(workgroupId: string): Promise<void>;
}

/**
 * Runs operations of requests: opens a shard that hibernates, and lets the worker roll up what was changed.
 */
export function answerForShards(
  pipeline: Pick<Pipeline, 'run'>,
  { wake, noteChange, noteCommit }: ShardCalls,
): Pick<Pipeline, 'run'> {
  /** Notes changes of a job in the background until it ends. */
  async function follow(workgroupId: string, state: 'importState' | 'backfillState'): Promise<void> {
    for (let isRunning = true; isRunning; ) {
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      isRunning = (await pipeline.run(workgroupId, state, undefined)).kind === 'running';
      noteChange(workgroupId);
    }
  }

  return {
    async run(workgroupId, operation, args, transfer, signal) {
      if (!(await wake(workgroupId)))
        throw new TransientError(
          'ShardNotOpen',
          `the warehouse of ${workgroupId} cannot be opened now; try again in some seconds, or see "wattline status"`,
        );
      try {
        const result = await pipeline.run(workgroupId, operation, args, transfer, signal);
        // It is stored already, so a shard that is closed now changes nothing.
        if (COMMITTING.has(operation)) await noteCommit?.(workgroupId).catch(() => undefined);
        return result;
      } finally {
        if (CHANGING.has(operation)) noteChange(workgroupId);
        // If the shard closes meanwhile, following fails, and nothing is left to follow.
        if (operation in JOBS)
          void follow(workgroupId, JOBS[operation as keyof typeof JOBS]).catch(() => undefined);
      }
    },
  };
}
