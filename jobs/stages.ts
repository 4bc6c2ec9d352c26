import { z } from 'zod';
import type { Config } from '../src/config/config.ts';

/** The stages of a workgroup, in the order in which data passes through them. */
export const stageNames = ['poll', 'rollup', 'publish', 'maintain', 'commit', 'export'] as const;
export type StageName = (typeof stageNames)[number];

/** The result of a run of a stage. Other results mean that the stage has done everything. */
export interface StageResult {
  /** There is more to do. The stage runs again as soon as its least distance allows. */
  more?: boolean;
  /** The stage must run again after this time. */
  againInMs?: number | undefined;
  /** Counts of the work of the run, for the log. */
  counts?: Readonly<Record<string, number>>;
  /** The position in the stream after the run, for the log. */
  nextOffset?: bigint | undefined;
}

/** A run of a stage that has ended. A run that was aborted, because the worker stops, is left out. */
export interface StageRun {
  workgroupId: string;
  stage: StageName;
  durationMs: number;
  hasFailed: boolean;
}

/**
 * The work of the stages. Each may run twice or not at all: it reads its position from the warehouse, does a
 * bounded piece of work, and ends soon after `signal` aborts.
 */
export type StageWork = Readonly<
  Record<StageName, (workgroupId: string, signal: AbortSignal) => Promise<unknown>>
>;

/** One stage of the table: its lane, and when it runs. */
export interface StageDefinition {
  stage: StageName;
  /**
   * Stages of one lane of a shard never run at the same time. Stages of different lanes may, and rely on
   * transactions of the warehouse.
   */
  lane: 'land' | 'derive' | 'commit' | 'export';
  /** The least time between the beginnings of two runs. */
  minPeriodMs: (pipeline: Config['pipeline']) => number;
  /** The time after which the stage runs without being asked. */
  maxPeriodMs: (pipeline: Config['pipeline']) => number;
  /** A longer run is aborted. */
  timeLimitMs: number;
}

/** When a stage of a workgroup runs. */
export interface StagePace {
  stage: StageName;
  minPeriodMs: number;
  maxPeriodMs: number;
  /** Without success for this time, the stage is late. Default: it depends on `maxPeriodMs`. */
  lateAfterMs?: number;
}

/** A time of day at which a job is due. */
export interface JobSchedule {
  /** `export:<workgroup>:<export>`. */
  key: string;
  /** A cron pattern. */
  pattern: string;
  timeZone: string;
  job: Job;
}

export const jobSchema = z.strictObject({ stage: z.literal('export'), workgroupId: z.string() });
/**
 * A job says that something is due. The worker that owns the shard does it. It contains only ids: no readings
 * and no secrets.
 */
export type Job = z.output<typeof jobSchema>;
