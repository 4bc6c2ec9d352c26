import type { RunningWorker } from '../../jobs/worker.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { StatusBook } from '../pipeline/workgroup-status.ts';
import type { StreamNews } from './stream-news.ts';

type Worker = Pick<RunningWorker, 'noteNews'>;

interface Streams {
  workgroups: Pick<Workgroups, 'get'>;
  /** Undefined if the stream is in another process, and there is no news of its messages. */
  news: Pick<StreamNews, 'onAppended'> | undefined;
}

/** True if the worker is told of new messages of the workgroup. There is no news of an upstream. */
export function hasStreamNews(workgroupId: string, { workgroups, news }: Streams): boolean {
  return news !== undefined && workgroups.get(workgroupId)?.upstream === undefined;
}

/** Tells the worker of new messages in the streams that its workgroups read. */
export function followStreams(worker: Worker, streams: Streams): void {
  streams.news?.onAppended((workgroupId) => {
    if (streams.workgroups.get(workgroupId) && hasStreamNews(workgroupId, streams))
      worker.noteNews(workgroupId);
  });
}

/** Lets an open workgroup look at a commit of its bucket that it does not know. Never throws. */
export async function lookAtBucket(
  worker: Worker,
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
