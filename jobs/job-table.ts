import type { Config, WorkgroupConfig } from '../src/config/config.ts';
import { parseCron } from '../src/lib/cron.ts';
import { MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import type { AnySchedule, JobDefinition, StageName } from './stages.ts';

/** All jobs, in the order in which data passes through them. */
export const jobTable = {
  /** Reads the stream to its head, for at most 20 s, and lands the messages. With a push source it stays at the head. */
  poll: {
    stage: 'poll',
    lane: 'land',
    everyMs: (pipeline) => pipeline.pollEvery,
    timeLimitMs: 30 * SECOND_MS,
  },
  /** Computes intervals and days from landed batches. */
  rollup: {
    stage: 'rollup',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.rollupEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Writes a new generation of the lake if something has changed. */
  publish: {
    stage: 'publish',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.publishEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Deletes old data and cleans up the warehouse. */
  maintain: {
    stage: 'maintain',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.maintainEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Writes and delivers due reports, and retries failed ones. */
  export: {
    stage: 'export',
    lane: 'export',
    everyMs: () => MINUTE_MS,
    timeLimitMs: 30 * MINUTE_MS,
  },
} as const satisfies Readonly<Record<StageName, JobDefinition>>;

/** The schedule of a workgroup: one row for each job and for each export. */
export function schedulesOf(
  workgroup: Pick<WorkgroupConfig, 'id' | 'timezone'>,
  { pipeline, exports }: Pick<Config, 'pipeline' | 'exports'>,
): AnySchedule[] {
  const { export: exportJob, ...jobs } = jobTable;
  return [
    ...Object.values(jobs).map(({ stage, everyMs }) => ({
      stage,
      workgroupId: workgroup.id,
      everyMs: everyMs(pipeline),
    })),
    ...exportSchedules(workgroup, exports),
  ];
}

/**
 * The schedule of the exports of a workgroup: each by its own pattern, and all once a minute for missed and failed runs. The ledger of the exports
 * decides what a tick does, so a missed or repeated tick changes nothing.
 */
function exportSchedules(
  { id: workgroupId, timezone }: Pick<WorkgroupConfig, 'id' | 'timezone'>,
  exports: Config['exports'],
): AnySchedule[] {
  const { stage, everyMs } = jobTable.export;
  const own = exports.filter(({ workgroup }) => workgroup === workgroupId);
  if (own.length === 0) return [];
  return [
    { stage, workgroupId, everyMs: everyMs() },
    ...own.flatMap(({ id, schedule, timezone: timeZone = timezone }) => {
      const pattern = parseCron(schedule ?? '');
      if (typeof pattern === 'string') return [];
      return [{ stage, workgroupId, name: `export-${id}`, pattern: pattern.plain, timeZone }];
    }),
  ];
}
