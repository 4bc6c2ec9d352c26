// @module-tag slow
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { socketEvents } from '../../../src/contract/socket-events.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../../src/lib/time.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { telemetry } from '../../support/messages.ts';
import { nextEvent, openRawWith } from '../../support/raw-socket.ts';
import { startRedis } from '../../support/redis.ts';
import { rounds } from '../../support/rounds.ts';
import { startStreamService } from '../../support/stream-service.ts';
import { tempDir } from '../../support/temp-dir.ts';

const server = await startRedis();
const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
afterAll(async () => {
  redis.close();
  await server.stop();
});
const options = { clock: systemClock, retentionMs: HOUR_MS, cacheBytesMax: 64e6, logger: silentLogger };
/**
 * In the soak the memory log has a million messages. WATTLINE_TEST_MESSAGES sets the same number for all
 * logs.
 */
const asked = Number(process.env.WATTLINE_TEST_MESSAGES) || undefined;
const usual = rounds(10_000, 100_000);
const logs = [
  {
    name: 'memory',
    total: asked ?? rounds(usual, 1_000_000),
    open: () => createMemoryLog({ ...options, bytesMax: 4e9 }),
  },
  { name: 'LMDB', total: asked ?? usual, open: () => openLmdbLog({ ...options, path: tempDir() }) },
  {
    name: 'Redis',
    total: asked ?? usual,
    open: () => openRedisLog({ ...options, redis, workgroupId: randomUUID() }),
  },
];

const WRITERS = 4;
const LATE_READERS = 9;
/** Messages behind which some readers start, while new ones are written. */
const RECENT = rounds(2_000, 20_000);

test.each(logs)(
  '$total messages of four writers reach every subscriber of a $name log once and in order, though all go from replay to live while they write',
  { timeout: 300_000 },
  async ({ name, total, open }) => {
    const service = await startStreamService({ openLog: open });
    const log = await service.stream.logOf('acme');
    const token = await service.token();
    let written = 0;
    const write = (count: number, isOver: () => boolean) => {
      // All writers send one body, because offsets tell messages apart.
      const body = encodeCbor(telemetry(count));
      const headers = { 'content-type': 'application/cbor' };
      const writer = async () => {
        while (!isOver()) {
          written += count;
          const answer = await service.call(TABLE, { method: 'POST', token, headers, body });
          expect(answer.status).toBe(200);
        }
      };
      return Promise.all(Array.from({ length: WRITERS }, writer));
    };
    const readers: Reader[] = [];
    const follow = async (members: Record<string, unknown>) => {
      readers.push(await followRaw(service.baseUrl, token, members));
    };

    const startedMs = performance.now();
    const many = write(rounds(500, 5_000), () => written >= total);
    for (const members of [{ timestamp: 0 }, { timestamp: 0, limit: 777 }, {}]) await follow(members);
    await many;
    let allFollow = false;
    const few = write(20, () => allFollow && readers.every(({ isLive }) => isLive()));
    const recent = await positionBefore(log, RECENT);
    for (let number = 0; number < LATE_READERS; number++)
      await follow(number % 3 === 0 ? {} : { offset: String(recent), limit: 100 * number });
    allFollow = true;
    await few;
    const end = (await log.bounds()).next;
    for (const { reached } of readers) await reached(end);
    const seconds = (performance.now() - startedMs) / 1_000;

    expect(await log.countFrom(0n)).toBe(written);
    const hashes = new Map<bigint, string>();
    for (const { from, hash } of readers) {
      if (!hashes.has(from)) hashes.set(from, await hashOfLog(log, from));
      expect(hash()).toBe(hashes.get(from));
    }
    process.stdout.write(
      `${name}: ${written} messages of ${WRITERS} writers reached ${readers.length} subscribers from ${hashes.size} positions in ${seconds.toFixed(1)} s, hashes equal\n`,
    );
  },
);

const TABLE = '/api/v1/tables/acme/solar/messages';

interface Reader {
  from: bigint;
  reached(position: bigint): Promise<void>;
  /** A hash of the stored bytes of all received messages. */
  hash(): string;
  /** True once a frame was up to date. */
  isLive(): boolean;
}

/** Subscribes without socket.io's client, and acknowledges every frame. */
async function followRaw(baseUrl: string, token: string, members: Record<string, unknown>): Promise<Reader> {
  const socket: WebSocket = await openRawWith(baseUrl, token);
  const hash = createHash('sha256');
  let acknowledgement = '';
  let position = 0n;
  let live = false;
  let wake = () => {};
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) {
      acknowledgement = /^451-(\d+)/.exec(data.toString())?.[1] ?? '';
      return;
    }
    hash.update(rawMessages(data));
    position = data.readBigUInt64BE(data.indexOf('nextOffset') + 'nextOffset'.length + 1);
    live ||= data[data.indexOf('upToDate') + 'upToDate'.length] === TRUE;
    if (acknowledgement) socket.send(`43${acknowledgement}[]`);
    wake();
  });
  const answered = nextEvent(socket, socketEvents.answer);
  socket.send(`42${JSON.stringify([socketEvents.subscribe, { requestId: randomUUID(), ...members }])}`);
  const from = BigInt(String((await answered).nextOffset));
  return {
    from,
    async reached(end) {
      while (position < end)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    hash: () => hash.copy().digest('hex'),
    isLive: () => live,
  };
}

const TRUE = 0xf5;

/** The stored bytes of a frame, after the head of its last member. */
function rawMessages(frame: Buffer): Buffer {
  const at = frame.indexOf('messages') + 'messages'.length;
  const info = frame[at]! & 31;
  return frame.subarray(at + (info < 24 ? 1 : info === 24 ? 2 : 3));
}

/** The position with about `count` messages after it. */
async function positionBefore(log: StreamLog, count: number): Promise<bigint> {
  let { earliest: low, next: high } = await log.bounds();
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if ((await log.countFrom(middle)) > count) low = middle;
    else high = middle;
  }
  return high;
}

async function hashOfLog(log: StreamLog, start: bigint): Promise<string> {
  const hash = createHash('sha256');
  let from = start;
  for (;;) {
    const outcome = await log.read({ from, limit: 10_000, bytesMax: 64e6, oneAtLeast: true });
    if (outcome.kind !== 'batch') throw new Error(outcome.kind);
    for (const part of outcome.parts) hash.update(part);
    if (outcome.upToDate) return hash.digest('hex');
    from = outcome.nextOffset;
  }
}
