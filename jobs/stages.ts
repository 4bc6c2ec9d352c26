import type { Config } from '../src/config/config.ts';

/** The jobs of a workgroup, in the order in which data passes through them. */
export const stageNames = ['poll', 'rollup', 'publish', 'maintain', 'export'] as const;
export type StageName = (typeof stageNames)[number];

/**
 * The work of the jobs. Each may run twice or not at all: it reads its position from the warehouse, does a bounded piece of work, and ends soon after
 * `signal` aborts.
 */
export type Stages = Readonly<
  Record<StageName, (workgroupId: string, signal: AbortSignal) => Promise<unknown>>
>;

/** One job of the table: its stage, its schedule, and its lane. */
export interface JobDefinition {
  stage: StageName;
  /** Jobs of one lane of a shard never run at the same time. Jobs of different lanes may, and rely on transactions of the warehouse. */
  lane: 'land' | 'derive' | 'export';
  everyMs: (pipeline: Config['pipeline']) => number;
  /** A longer run is aborted. */
  timeLimitMs: number;
}

/** A row of the schedule: when one job of one workgroup is due. */
export interface Schedule {
  stage: StageName;
  workgroupId: string;
  everyMs: number;
}

/** Additional due times of a stage, with their own name. */
export interface ClockSchedule {
  stage: StageName;
  workgroupId: string;
  name: string;
  /** A cron pattern. */
  pattern: string;
  timeZone: string;
}

export type AnySchedule = Schedule | ClockSchedule;

export function isPeriodic(schedule: AnySchedule): schedule is Schedule {
  return 'everyMs' in schedule;
}

/** The key of a schedule. */
export function scheduleKey(row: AnySchedule): string {
  return isPeriodic(row) ? row.stage : row.name;
}
