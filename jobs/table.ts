import type { Config, WorkgroupConfig } from '../src/config/config.ts';
import { exportJob, exportSchedules } from './export.ts';
import { maintainJob } from './maintain.ts';
import { pollJob } from './poll.ts';
import { publishJob } from './publish.ts';
import { rollupJob } from './rollup.ts';
import type { AnySchedule, JobDefinition, StageName } from './stages.ts';

/** Every job there is. */
export const jobTable: Readonly<Record<StageName, JobDefinition>> = {
  poll: pollJob,
  rollup: rollupJob,
  publish: publishJob,
  maintain: maintainJob,
  export: exportJob,
};

/** The schedule one workgroup should have: one row for each job of the pipeline, and those of its exports. */
export function schedulesOf(
  workgroup: Pick<WorkgroupConfig, 'id' | 'timezone'>,
  { pipeline, exports }: Pick<Config, 'pipeline' | 'exports'>,
): AnySchedule[] {
  const stages = [pollJob, rollupJob, publishJob, maintainJob];
  return [
    ...stages.map(({ stage, everyMs }) => ({ stage, workgroupId: workgroup.id, everyMs: everyMs(pipeline) })),
    ...exportSchedules(workgroup, exports, pipeline),
  ];
}
