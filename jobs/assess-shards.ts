import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { runAtATime } from '../src/lib/run-at-a-time.ts';
import type { ClosedShardState, WorkerDependencies } from './worker-dependencies.ts';

/** The number of streams that are asked for their end at the same time. */
const ASSESSED_AT_ONCE = 16;

/**
 * The states of closed shards. A shard counts as behind if there is no news of its stream, or if its state
 * cannot be found out.
 */
export async function assessShards(
  workgroupIds: readonly string[],
  { hasNews, assess, logger }: Pick<WorkerDependencies, 'hasNews' | 'assess'> & { logger: Logger },
): Promise<Map<string, ClosedShardState>> {
  const states = new Map<string, ClosedShardState>();
  await runAtATime(workgroupIds, ASSESSED_AT_ONCE, async (workgroupId) => {
    try {
      states.set(workgroupId, hasNews(workgroupId) ? await assess(workgroupId) : 'behind');
    } catch (error) {
      // The shard is opened next. If that fails too, the error of the opening has the reason.
      logger.debug({ workgroup: workgroupId, error: errorMessage(error) }, 'shard.not-assessed');
      states.set(workgroupId, 'behind');
    }
  });
  return states;
}
