import { workgroupIdSchema } from '../contract/messages.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { redisScript } from '../redis/redis-script.ts';

/**
 * News that the bucket has another commit of a workgroup. News can be lost, so readers also look without
 * news.
 */
export interface CommitNews {
  /** Calls the listeners of this process and of all others. Never throws. */
  publish(workgroupId: string, sequence: number): void;
  onCommit(listener: CommitListener): void;
  close(): Promise<void>;
}

type CommitListener = (workgroupId: string, sequence: number) => void;

const CHANNEL = 'wattline:commits:news';
const PUBLISH = redisScript(`return redis.call('PUBLISH', ARGV[1], ARGV[2])`);

/** @param options.redis undefined if only this process works with the bucket */
export async function openCommitNews(options: {
  redis: Pick<RedisConnection, 'run' | 'subscribe'> | undefined;
  logger: Logger;
}): Promise<CommitNews> {
  const { redis, logger } = options;
  const listeners: CommitListener[] = [];
  let isFailing = false;

  function notify(workgroupId: string, sequence: number): void {
    for (const listener of listeners) listener(workgroupId, sequence);
  }

  async function send(workgroupId: string, sequence: number): Promise<void> {
    try {
      if (redis) await announceCommit(redis, workgroupId, sequence);
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error: errorMessage(error) }, 'commit-news.not-sent');
      isFailing = true;
    }
  }

  const unsubscribe = await redis?.subscribe(CHANNEL, (text) => {
    const news = parseNews(text);
    if (news) notify(news.workgroupId, news.sequence);
  });
  return {
    publish(workgroupId, sequence) {
      notify(workgroupId, sequence);
      void send(workgroupId, sequence);
    },
    onCommit: (listener) => void listeners.push(listener),
    close: async () => void (await unsubscribe?.().catch(() => undefined)),
  };
}

/** Calls the listeners of all processes, from a process that has none. @throws errors of Redis */
export async function announceCommit(
  redis: Pick<RedisConnection, 'run'>,
  workgroupId: string,
  sequence: number,
): Promise<void> {
  await redis.run(PUBLISH, [], [CHANNEL, newsText(workgroupId, sequence)]);
}

function newsText(workgroupId: string, sequence: number): string {
  return `${workgroupId} ${sequence}`;
}

/** @returns undefined if it is not news of a commit */
function parseNews(text: string): { workgroupId: string; sequence: number } | undefined {
  const [id, digits, ...rest] = text.split(' ');
  const workgroupId = workgroupIdSchema.safeParse(id);
  if (!workgroupId.success || rest.length > 0 || !/^[1-9]\d{0,11}$/.test(digits ?? '')) return undefined;
  return { workgroupId: workgroupId.data, sequence: Number(digits) };
}
