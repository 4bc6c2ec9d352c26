import type { RunningWorker } from '../../jobs/worker.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { StatusBook } from '../pipeline/workgroup-status.ts';

/** Lets an open workgroup look at a commit of its bucket that it does not know. Never throws. */
export async function lookAtBucket(
  worker: Pick<RunningWorker, 'noteNews'>,
  workgroupId: string,
  sequence: number,
  parts: { pipeline: Pick<Pipeline, 'run'>; status: Pick<StatusBook, 'of'>; logger: Logger },
): Promise<void> {
  const known = parts.status.of(workgroupId).bucket?.sequence ?? 0;
  if (sequence <= known) return;
  try {
    await parts.pipeline.run(workgroupId, 'lookAtBucket', { sequence });
  } catch (error) {
    parts.logger.info(
      { workgroup: workgroupId, sequence, error: errorMessage(error) },
      'bucket.later-commit',
    );
    // The next stage finds out that the workgroup is lost, and closes it.
    worker.noteNews(workgroupId);
  }
}
