import type { Config } from '../src/config/config.ts';

/** The jobs of a workgroup, in the order in which data passes through them. */
export const stageNames = ['poll', 'rollup', 'publish', 'maintain', 'export'] as const;
export type StageName = (typeof stageNames)[number];

/**
 * What the jobs do, provided by whoever starts the worker. Each may run twice or not at all: it reads where it stands
 * from the warehouse, does a bounded piece of work, and ends soon after `signal` aborts.
 */
export type Stages = Readonly<
  Record<StageName, (workgroupId: string, signal: AbortSignal) => Promise<unknown>>
>;

/** One job of the table: which stage it calls, when it is due, and beside what it may run. */
export interface JobDefinition {
  stage: StageName;
  /** Jobs of one lane never run at once in a shard; jobs of different lanes may, and rely on the warehouse's transactions. */
  lane: 'land' | 'derive' | 'export';
  everyMs: (pipeline: Config['pipeline']) => number;
  /** A run that takes longer is told to stop. */
  timeLimitMs: number;
}

/** When one job of one workgroup is due: a row of the schedule. */
export interface Schedule {
  stage: StageName;
  workgroupId: string;
  everyMs: number;
}

/** Times of the clock at which a stage is due besides, under a name of its own. */
export interface ClockSchedule {
  stage: StageName;
  workgroupId: string;
  name: string;
  /** As cron has it. */
  pattern: string;
  timeZone: string;
}

export type AnySchedule = Schedule | ClockSchedule;

export function isPeriodic(schedule: AnySchedule): schedule is Schedule {
  return 'everyMs' in schedule;
}

/** What a schedule is known by. */
export function scheduleKey(row: AnySchedule): string {
  return isPeriodic(row) ? row.stage : row.name;
}
