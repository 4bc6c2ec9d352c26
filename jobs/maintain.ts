import { MINUTE_MS } from '../src/lib/time.ts';
import type { JobDefinition } from './stages.ts';

/** Removes what has been kept long enough and tidies the warehouse. */
export const maintainJob: JobDefinition = {
  stage: 'maintain',
  lane: 'derive',
  everyMs: (pipeline) => pipeline.maintainEvery,
  timeLimitMs: 10 * MINUTE_MS,
  run: (stages, workgroupId, signal) => stages.maintain(workgroupId, signal),
};
