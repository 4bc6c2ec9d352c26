import { MINUTE_MS } from '../src/lib/time.ts';
import type { JobDefinition } from './stages.ts';

/** Writes a new generation of the lake where something has changed. */
export const publishJob: JobDefinition = {
  stage: 'publish',
  lane: 'derive',
  everyMs: (pipeline) => pipeline.publishEvery,
  timeLimitMs: 10 * MINUTE_MS,
  run: (stages, workgroupId, signal) => stages.publish(workgroupId, signal),
};
