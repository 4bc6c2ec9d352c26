import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type Database, open } from 'lmdb';
import type { Offset } from '../src/contract/offset.ts';
import type { StreamLog } from '../src/stream/log/stream-log.ts';
import { type BenchLog, openBenchLog } from './logs.ts';
import { quartilesOf } from './quartiles.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

const MESSAGES = 10_000;
/** The disk's time varies much, so few rounds say little. */
const APPEND_ROUNDS = 240;

/**
 * Appends 10,000 messages durably to each kind of log. LMDB and Redis store the same bytes with nothing
 * around them, for comparison. Then reads the messages back when they are no longer in memory.
 * @param url of a Redis that syncs each write before it answers
 */
export async function measureAppending(url: string): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const { batch } = telemetryBodies(1, MESSAGES)[0]!;
  const value = Buffer.from(batch.bytes);
  const environment = open({ path: join(folder, 'bare'), overlappingSync: false, mapSize: 16 * 1024 ** 3 });
  const bareLmdb: Database<Buffer, number> = environment.openDB('chunks', { encoding: 'binary' });
  const bareRedis = new Redis(url);
  // The log has little memory for its newest messages, so reads come from its storage.
  const openLog = (which: BenchLog) => openBenchLog(which, folder, 1);
  const memory = await openLog({ kind: 'memory' });
  const lmdb = await openLog({ kind: 'lmdb' });
  const redis = await openLog({ kind: 'redis', url });
  let key = 0;
  const appends = {
    'bare LMDB': () => bareLmdb.put(key++, value),
    lmdb: () => lmdb.log.append(batch),
  };
  const others = {
    'bare Redis': () => bareRedis.xadd('bench', 'MAXLEN', '50', '*', 'v', value),
    memory: () => memory.log.append(batch),
    redis: () => redis.log.append(batch),
    'read back, lmdb': readFirst(lmdb.log),
    'read back, redis': readFirst(redis.log),
  };
  const ms = { ...(await quartilesOf(appends, APPEND_ROUNDS)), ...(await quartilesOf(others)) };
  bareRedis.disconnect();
  await Promise.all([memory.close(), lmdb.close(), redis.close(), environment.close()]);
  rmSync(folder, { recursive: true });
  return ms;
}

/** Reads each chunk once, from the first one on. */
function readFirst(log: StreamLog): () => Promise<void> {
  let from: Offset | 'oldest' = 'oldest';
  return async () => {
    const outcome = await log.read({ from, limit: MESSAGES, bytesMax: 8e6, oneAtLeast: true });
    if (outcome.kind !== 'batch' || outcome.count !== MESSAGES) throw new Error('there is nothing to read');
    from = outcome.nextOffset;
  };
}
