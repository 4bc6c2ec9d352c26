import type { Config } from '../src/config/config.ts';
import { MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import type { StageDefinition, StageName, StagePace } from './stages.ts';

/**
 * A stage that waits for news also runs after this time without news, because news can be lost, and time
 * alone changes some results.
 */
const UNASKED_MS = 30 * SECOND_MS;

/** All stages, in the order in which data passes through them. */
export const stageTable = {
  /**
   * Reads the stream to its head, for at most 20 s, and lands the messages. Over a socket it stays at the
   * head.
   */
  poll: {
    stage: 'poll',
    lane: 'land',
    minPeriodMs: (pipeline) => pipeline.pollEvery,
    maxPeriodMs: () => UNASKED_MS,
    timeLimitMs: 30 * SECOND_MS,
  },
  /**
   * Computes intervals and days from landed batches. It runs at most as often as publications, because nobody
   * sees the results earlier.
   */
  rollup: {
    stage: 'rollup',
    lane: 'derive',
    minPeriodMs: (pipeline) => Math.max(pipeline.rollupEvery, pipeline.publishEvery),
    maxPeriodMs: (pipeline) => Math.max(UNASKED_MS, pipeline.rollupEvery),
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Writes a new generation of the lake if something has changed. */
  publish: {
    stage: 'publish',
    lane: 'derive',
    minPeriodMs: (pipeline) => pipeline.publishEvery,
    maxPeriodMs: (pipeline) => Math.max(UNASKED_MS, pipeline.publishEvery),
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Deletes old data and cleans up the warehouse. */
  maintain: {
    stage: 'maintain',
    lane: 'derive',
    minPeriodMs: () => SECOND_MS,
    maxPeriodMs: (pipeline) => pipeline.maintainEvery,
    timeLimitMs: 10 * MINUTE_MS,
  },
  /** Commits changed data to the bucket. Only with a bucket; then its pace is `storage.commitEvery`. */
  commit: {
    stage: 'commit',
    // A bucket that hangs must not delay publications.
    lane: 'commit',
    minPeriodMs: () => MINUTE_MS,
    maxPeriodMs: () => MINUTE_MS,
    timeLimitMs: 30 * MINUTE_MS,
  },
  /** Writes and delivers due reports, and retries failed ones. */
  export: {
    stage: 'export',
    lane: 'export',
    minPeriodMs: () => SECOND_MS,
    maxPeriodMs: () => MINUTE_MS,
    timeLimitMs: 30 * MINUTE_MS,
  },
} as const satisfies Readonly<Record<StageName, StageDefinition>>;

/** The settings of a workgroup that its stages use. */
interface StageNeeds {
  hasExports: boolean;
  /** True if news of the stream asks for `poll`. Otherwise it runs every `pollEvery`. */
  hasNews: boolean;
  /** Undefined if no bucket is configured. Without success for `lateAfterMs` the commits are late. */
  commits?: { maxPeriodMs: number; lateAfterMs: number } | undefined;
}

/** When the stages of a workgroup run. */
export function pacesOf(
  pipeline: Config['pipeline'],
  { hasExports, hasNews, commits }: StageNeeds,
): StagePace[] {
  return Object.values<StageDefinition>(stageTable)
    .filter(({ stage }) => stage !== 'export' || hasExports)
    .filter(({ stage }) => stage !== 'commit' || commits !== undefined)
    .map(({ stage, minPeriodMs, maxPeriodMs }) => {
      if (stage === 'commit' && commits) return { stage, minPeriodMs: commits.maxPeriodMs, ...commits };
      return {
        stage,
        minPeriodMs: minPeriodMs(pipeline),
        maxPeriodMs: stage === 'poll' && !hasNews ? pipeline.pollEvery : maxPeriodMs(pipeline),
      };
    });
}
