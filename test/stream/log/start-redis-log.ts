import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { identitiesOf, readToTail } from '../../support/redis-log.ts';
import { until } from '../../support/until.ts';

export const never = new AbortController().signal;
export let server: TestRedis;
export let admin: Redis;

export async function start(settings: Record<string, string> = {}): Promise<void> {
  server = await startRedis(settings);
  admin = new Redis(server.url, { retryStrategy: () => 20 });
  admin.on('error', () => undefined);
  onTestFinished(async () => {
    admin.disconnect();
    await server.stop();
  });
}

/** Saves a copy of the data of Redis, as a replica would have it. */
export async function saveCopy(name: string): Promise<void> {
  await admin.save();
  await copyFile(join(server.directory, 'dump.rdb'), join(server.directory, name));
}

/** Replaces the server by one with the copy. */
export async function takeOver(name: string): Promise<void> {
  await server.restart({
    whileDown: () => copyFile(join(server.directory, name), join(server.directory, 'dump.rdb')),
  });
}

export async function boundsOnceThere(log: StreamLog) {
  let bounds: Awaited<ReturnType<StreamLog['bounds']>> | undefined;
  await until('Redis is reached again', async () => {
    bounds = await log.bounds().catch(() => undefined);
    return bounds !== undefined;
  });
  return bounds!;
}

/** Follows the log until `count` messages were read. */
export async function followUntil(log: StreamLog, count: number): Promise<string[]> {
  const seen: string[] = [];
  let position: Offset | 'oldest' = 'oldest';
  while (seen.length < count) {
    const { messages } = await readToTail(log, position);
    seen.push(...identitiesOf(messages));
    if (messages.length > 0) position = BigInt(messages.at(-1)!.offset) + 1n;
    if (seen.length < count) await log.waitFor(position === 'oldest' ? 0n : position, never);
  }
  return seen;
}

export function byOffset(a: string, b: string): number {
  return BigInt(a.split(' ')[0]!) < BigInt(b.split(' ')[0]!) ? -1 : 1;
}
