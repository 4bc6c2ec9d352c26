import type { RunningWorker } from '../../jobs/worker.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { StreamNews } from './stream-news.ts';

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
export function followStreams(worker: Pick<RunningWorker, 'noteNews'>, streams: Streams): void {
  streams.news?.onAppended((workgroupId) => {
    if (streams.workgroups.get(workgroupId) && hasStreamNews(workgroupId, streams))
      worker.noteNews(workgroupId);
  });
}
