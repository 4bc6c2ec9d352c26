import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { createSerialLanes } from '../src/lib/serial-lanes.ts';
import { type Clock, SECOND_MS } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { jobTable } from './job-table.ts';

import { reconcileSchedules } from './reconcile-schedules.ts';
import { runStage } from './run-stage.ts';
import type { ShardQueue, TickOutcome } from './shard-queue.ts';
import { createProgress, type StageHealth } from './stage-health.ts';
import { type AnySchedule, isPeriodic, type StageName, type Stages } from './stages.ts';

/** A stage can find that another worker has its shard, or that it is not open. */
export type LossReason = 'stale-owner' | 'shard-ended';

/** A shard that this worker owns. Only this worker reads its queue. */
export interface Shard {
  readonly workgroupId: string;
  health(): StageHealth[];
  /** Repairs the schedules and reports missing ticks. One review runs at a time. */
  review(): Promise<void>;
  /** Stops taking ticks, aborts running ones, and waits for at most `withinMs`. */
  stop(withinMs: number): Promise<'stopped' | 'abandoned'>;
  /** Closes the queue, after a stop. */
  close(): Promise<void>;
}

export interface ShardOptions {
  /** Owned by the shard and closed with it. */
  queue: ShardQueue;
  schedules: readonly AnySchedule[];
  stages: Stages;
  clock: Clock;
  logger: Logger;
  /** Called when a stage finds that the shard can no longer be worked on. */
  onLost: (reason: LossReason) => void;
}

/** Sets up the schedules of a workgroup and starts to process its ticks. */
export async function startShard(options: ShardOptions): Promise<Shard> {
  const { queue, schedules, stages, clock, logger, onLost } = options;
  const { workgroupId } = queue;
  const progress = createProgress(schedules.filter(isPeriodic), {
    clock,
    timeLimitMs: (stage) => jobTable[stage].timeLimitMs,
  });
  const lanes = createSerialLanes();

  async function handleTick(stage: StageName, signal: AbortSignal): Promise<TickOutcome> {
    progress.tick(stage);
    if (progress.isBackingOff(stage)) return 'backing-off';
    const job = jobTable[stage];
    let outcome: TickOutcome = 'busy';
    try {
      await lanes.run(job.lane, stage, async () => {
        outcome = await runStage(job, { stages, workgroupId, progress, logger }, signal);
      });
    } catch (error) {
      const reason = lossReason(error);
      if (reason) onLost(reason);
      throw error;
    }
    return outcome;
  }

  async function reconcile(): Promise<void> {
    const changes = await reconcileSchedules(queue, schedules, clock.now());
    if (Object.values(changes).some((keys) => keys.length > 0))
      logger.info({ workgroup: workgroupId, ...changes }, 'schedule.reconciled');
  }

  let reviewing = false;
  async function review(): Promise<void> {
    if (reviewing) return;
    reviewing = true;
    try {
      for (const { stage, lastTickAtMs } of progress.health().filter(isUnscheduled))
        logger.error({ workgroup: workgroupId, stage, lastTickAtMs }, 'schedule.ticks-missing');
      await reconcile();
    } catch (error) {
      logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'schedule.review-failed');
    } finally {
      reviewing = false;
    }
  }

  try {
    await reconcile();
  } catch (error) {
    await withTimeout(queue.close(), SECOND_MS).catch(() => undefined);
    throw error;
  }
  const consumer = queue.consume(handleTick);
  return {
    workgroupId,
    health: progress.health,
    review,
    stop: consumer.stop,
    async close() {
      await consumer.settle(SECOND_MS).catch(() => undefined);
      await withTimeout(queue.close(), SECOND_MS).catch(() => undefined);
    },
  };
}

export function isUnscheduled({ state }: StageHealth): boolean {
  return state === 'unscheduled';
}

/** Compares codes, because classes do not survive between threads. */
function lossReason(error: unknown): LossReason | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  if (error.code === 'StaleOwner') return 'stale-owner';
  return error.code === 'ShardNotOpen' || error.code === 'PipelineEnded' ? 'shard-ended' : undefined;
}
