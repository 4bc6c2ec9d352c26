import type { Config } from '../src/config.ts';
import { maintainJob } from './maintain.ts';
import { pollJob } from './poll.ts';
import { publishJob } from './publish.ts';
import { rollupJob } from './rollup.ts';
import type { JobDefinition, Schedule, StageName } from './stages.ts';

/** Every job there is. */
export const jobTable: Readonly<Record<StageName, JobDefinition>> = {
  poll: pollJob,
  rollup: rollupJob,
  publish: publishJob,
  maintain: maintainJob,
};

/** The schedule one workgroup should have: one row for each job of the table. */
export function schedulesOf(workgroupId: string, pipeline: Config['pipeline']): Schedule[] {
  return Object.values(jobTable).map(({ stage, everyMs }) => ({
    stage,
    workgroupId,
    everyMs: everyMs(pipeline),
  }));
}
