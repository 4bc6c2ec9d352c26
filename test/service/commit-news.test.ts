import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createForwardingLogger, silentLogger } from '../../src/lib/logger.ts';
import { openRedisConnection, type RedisConnection } from '../../src/redis/redis-connection.ts';
import { openCommitNews } from '../../src/service/commit-news.ts';
import { startRedis } from '../support/redis.ts';
import { settle } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

/** News of one process, and the news that it has received. */
async function openNews(url: string) {
  const redis = await openRedisConnection({ url, logger: silentLogger });
  onTestFinished(() => redis.close());
  const news = await openCommitNews({ redis, logger: silentLogger });
  const heard: string[] = [];
  news.onCommit((workgroupId, sequence) => heard.push(`${workgroupId} ${sequence}`));
  return { news, heard };
}

test('news of a commit arrives in all processes, also after Redis was restarted', async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const [owner, reader] = [await openNews(server.url), await openNews(server.url)];
  owner.news.publish('acme', 7);
  // The own process does not wait for Redis.
  expect(owner.heard).toEqual(['acme 7']);
  await until('the other process has the news', () => reader.heard.includes('acme 7'));

  await server.restart();
  owner.news.publish('acme', 8);
  expect(owner.heard).toContain('acme 8');
  let sequence = 8;
  await until('news arrives again', () => {
    sequence += 1;
    owner.news.publish('acme', sequence);
    return reader.heard.some((one) => Number(one.split(' ')[1]) > 8);
  });

  await reader.news.close();
  const before = reader.heard.length;
  owner.news.publish('acme', 1_000);
  await until(
    'the owner has its own news from Redis',
    () => owner.heard.filter((one) => one === 'acme 1000').length === 2,
  );
  expect(reader.heard).toHaveLength(before);
});

test('what is not news of a commit is ignored', async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { heard } = await openNews(server.url);
  const other = new Redis(server.url);
  onTestFinished(() => other.disconnect());
  for (const text of [
    '',
    'acme',
    'acme 0',
    'acme -1',
    'acme 1.5',
    'acme 1 2',
    '../x 1',
    'acme 1234567890123',
    'acme 9',
  ])
    expect(await other.publish('wattline:commits:news', text)).toBe(1);
  await until('the last one has arrived', () => heard.length > 0);
  expect(heard).toEqual(['acme 9']);
});

test('an outage of Redis is logged once, and the next one again', async () => {
  const events: string[] = [];
  const logger = createForwardingLogger((line) => void events.push(JSON.parse(line).msg));
  let isAway = false;
  const redis = {
    subscribe: async () => async () => undefined,
    async run() {
      if (isAway) throw new Error('Redis is away');
    },
  } as unknown as RedisConnection;
  const news = await openCommitNews({ redis, logger });
  for (const away of [true, true, false, true]) {
    isAway = away;
    news.publish('acme', 1);
    await settle();
  }
  expect(events).toEqual(['commit-news.not-sent', 'commit-news.not-sent']);
});

test('a process without Redis has its own news', async () => {
  const news = await openCommitNews({ redis: undefined, logger: silentLogger });
  const heard: number[] = [];
  news.onCommit((_, sequence) => heard.push(sequence));
  news.publish('acme', 1);
  await news.close();
  expect(heard).toEqual([1]);
});
