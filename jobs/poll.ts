import { SECOND_MS } from '../src/lib/time.ts';
import type { JobDefinition } from './stages.ts';

/** Reads the stream to its head, and stays there where it is pushed to, for at most 20 s; lands what it reads. */
export const pollJob: JobDefinition = {
  stage: 'poll',
  lane: 'land',
  everyMs: (pipeline) => pipeline.pollEvery,
  timeLimitMs: 30 * SECOND_MS,
  run: (stages, workgroupId, signal) => stages.poll(workgroupId, signal),
};
