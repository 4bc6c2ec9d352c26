import { MINUTE_MS } from '../src/lib/time.ts';
import type { JobDefinition } from './stages.ts';

/** Turns batches that have landed into intervals and days. */
export const rollupJob: JobDefinition = {
  stage: 'rollup',
  lane: 'derive',
  everyMs: (pipeline) => pipeline.rollupEvery,
  timeLimitMs: 10 * MINUTE_MS,
  run: (stages, workgroupId, signal) => stages.rollup(workgroupId, signal),
};
