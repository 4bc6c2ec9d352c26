import type { Config, WorkgroupConfig } from '../src/config/config.ts';
import { parseCron } from '../src/lib/cron.ts';
import { MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import type { AnySchedule, JobDefinition, StageName } from './stages.ts';

/** Every job there is, in the order in which data passes through them. */
export const jobTable = {
  /** Reads the stream to its head, and stays there where it is pushed to, for at most 20 s; lands what it reads. */
  poll: {
    stage: 'poll',
    lane: 'land',
    everyMs: (pipeline) => pipeline.pollEvery,
    timeLimitMs: 30 * SECOND_MS,
  },
  /** Turns batches that have landed into intervals and days. */
  rollup: {
    stage: 'rollup',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.rollupEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Writes a new generation of the lake where something has changed. */
  publish: {
    stage: 'publish',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.publishEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Removes what has been kept long enough and tidies the warehouse. */
  maintain: {
    stage: 'maintain',
    lane: 'derive',
    everyMs: (pipeline) => pipeline.maintainEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Writes and delivers the reports that are due, and tries again what has failed. */
  export: {
    stage: 'export',
    lane: 'export',
    everyMs: () => MINUTE_MS,
    timeLimitMs: 30 * MINUTE_MS,
  },
} as const satisfies Readonly<Record<StageName, JobDefinition>>;

/** The schedule one workgroup should have: one row for each job of the pipeline, and those of its exports. */
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
 * When the exports of a workgroup are due: each by its own schedule, and all once a minute for what was missed or has failed. What a tick
 * has to do is told by the ledger, so that one that is missing or comes twice changes nothing.
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
