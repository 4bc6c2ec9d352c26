import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EncodedBatch } from '../../../contract/encode-messages.ts';
import { type Offset, offsetOf } from '../../../contract/offset.ts';
import type { Logger } from '../../../lib/logger.ts';
import { packageFolder } from '../../../lib/package-folder.ts';
import { type Clock, MINUTE_MS, type UtcMs } from '../../../lib/time.ts';
import { MEBIBYTE } from '../../../lib/units.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import { redisScript, type StoredValue } from '../../../redis/redis-script.ts';
import { SEQUENCER_LEAD_MS } from '../append-queue.ts';
import { type Chunk, type ChunkSpan, openChunk, packChunk, placeChunk } from '../chunk.ts';
import {
  type Entry,
  entryIdOf,
  type Fields,
  type KnownTail,
  messagesKeyOf,
  offsetOfEntryId,
  offsetParts,
  REDIS_FORMAT,
  readLogHead,
  readSpan,
} from './redis-replies.ts';
import { createRedisTail, type TailListeners } from './redis-tail.ts';
import { repeatUntilAnswered } from './repeat-until-answered.ts';

/** The chunks of one log in Redis, as one process sees them. Every call may throw TransientError. */
export interface RedisStore {
  readonly known: KnownTail;
  /** Subscribes to the appends of other processes. */
  listen(listeners: TailListeners): Promise<void>;
  look(position: Offset, nowMs: UtcMs): Promise<Look>;
  /**
   * Stores a chunk once after all others, even if the connection breaks meanwhile.
   * @param readTo set for an announcement: nothing is stored if the log has an announcement at or after it
   */
  append(
    batches: readonly EncodedBatch[],
    nowMs: UtcMs,
    readTo: Offset | undefined,
  ): Promise<Chunk | 'outdated'>;
  /**
   * Chunks from the first one whose last message is at or after `from`: about as many messages as are wanted,
   * and none after `to`.
   */
  page(from: Offset, to: Offset | undefined, messagesWanted: number): Promise<Page>;
  /** Removes the chunks that end before `offset`. */
  trimBefore(offset: Offset): Promise<void>;
  close(): Promise<void>;
}

/** The state of a log at one moment. */
interface Look {
  /** The last chunk that ends before the position. */
  before: ChunkSpan | undefined;
  /** The first chunk after it. */
  at: ChunkSpan | undefined;
  lastOffset: Offset | undefined;
}

/** `changed`: Redis has another log than the one this process knows. A look updates it. */
export type Page = { kind: 'chunks'; chunks: Chunk[] } | { kind: 'changed' };

interface RedisStoreOptions {
  redis: RedisConnection;
  workgroupId: string;
  retentionMs: number;
  clock: Clock;
  logger: Logger;
}

const script = redisScript(readFileSync(join(packageFolder, 'lua', 'redis-log.lua'), 'utf8'));
/** The functions of the script. */
type ScriptCall = 'look' | 'append' | 'page' | 'trim';

/** Chunks of one page, and chunks that one call trims. Other scripts wait meanwhile. */
const PAGE_CHUNKS_MAX = 512;
const TRIM_CHUNKS_MAX = 500;
/** Bytes of one page. A page has its first chunk in any case. */
const PAGE_BYTES_MAX = 4 * MEBIBYTE;
/** Redis keeps the answer to an append for this long, because the append may be repeated. */
const ANSWER_KEPT_MS = 10 * MINUTE_MS;
/** The offsets of one millisecond. */
const OFFSETS_PER_MS = Number(offsetOf(1));
/**
 * Clocks of processes may differ by this much. A new epoch skips offsets that a process with a fast clock may
 * have assigned.
 */
const CLOCKS_APART_MS = SEQUENCER_LEAD_MS;

/**
 * Opens the chunks of a workgroup, and creates them if needed.
 * @throws TransientError if Redis cannot be reached, TerminalError if a later version has written the log
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const { redis, workgroupId, logger } = options;
  // The braces keep all keys of a log on one node of a Redis cluster.
  const key = (name: string) => `wattline:stream:{${workgroupId}}:${name}`;
  const logKeys = [key('head'), key('chunks')];
  const channel = key('news');
  const sender = randomUUID();
  // Redis deletes the log by itself if no process trims it any more.
  const keptMs = 2 * options.retentionMs + ANSWER_KEPT_MS;
  let chunksSent = 0;
  const stops: Array<() => unknown> = [];
  const tail = createRedisTail({ workgroupId, sender, logger });

  const call = (name: ScriptCall, keys: readonly string[], values: object, stored?: StoredValue) =>
    redis.run(script, keys, [name, JSON.stringify(values)], stored);

  /** Calls a function that compares the log with `known`, and applies the head in its answer. */
  const callKnowing = async (
    name: ScriptCall,
    keys: readonly string[],
    nowMs: UtcMs,
    values: object,
    stored?: StoredValue,
  ) => {
    const { epoch, generation, lastOffset, nextOrdinal } = tail.known;
    const newEpoch = randomUUID();
    const knowledge = {
      known: { epoch, generation, ...offsetParts(lastOffset), ordinal: nextOrdinal },
      newEpoch,
      newEpochMs: nowMs + CLOCKS_APART_MS,
      format: REDIS_FORMAT,
    };
    const ran = await call(name, keys, { ...knowledge, ...values }, stored);
    const answer = ran as [Fields, ...unknown[]];
    const head = readLogHead(answer[0]);
    if (tail.known.epoch === '' && head.epoch === newEpoch && head.generation > 1)
      logger.warn({ workgroup: workgroupId, epoch: newEpoch }, 'stream.log-recreated');
    tail.learn(head);
    return { head, answer };
  };

  const trimBefore = async (offset: Offset): Promise<void> => {
    const values = { beforeId: entryIdOf(offset), chunksMax: TRIM_CHUNKS_MAX };
    for (;;) {
      const known = tail.known;
      const [head, removed] = (await call('trim', logKeys, values)) as [Fields | null, number];
      if (!tail.continues(head, known)) return tail.doubt();
      if (removed === 0) return;
    }
  };

  await callKnowing('look', logKeys, options.clock.now(), { position: offsetParts(0n) });

  return {
    get known() {
      return tail.known;
    },
    async listen(given) {
      tail.listen(given);
      stops.push(redis.onReady(given.onDoubt), await redis.subscribe(channel, tail.takeNews));
    },
    async look(position, nowMs) {
      const { head, answer } = await callKnowing('look', logKeys, nowMs, { position: offsetParts(position) });
      const [, before, at] = answer;
      return { before: readSpan(before), at: readSpan(at), lastOffset: head.lastOffset };
    },
    async append(batches, nowMs, readTo) {
      const chunk = packChunk(batches);
      const { count, value } = chunk;
      const chunkNumber = ++chunksSent;
      const messages = { key: key(`messages:${sender}:${chunkNumber}`), value, keptMs };
      const keys = [...logKeys, key(`sender:${sender}`), messages.key];
      const values = {
        sender,
        chunkNumber,
        answerKeptMs: ANSWER_KEPT_MS,
        nowMs,
        offsetsPerMs: OFFSETS_PER_MS,
        count,
        bytes: value.length,
        newsChannel: channel,
        readTo: readTo === undefined ? undefined : offsetParts(readTo),
      };
      const { answer } = await repeatUntilAnswered(redis, () =>
        callKnowing('append', keys, nowMs, values, messages),
      );
      const [, first, ordinal] = answer;
      if (first === null) return 'outdated';
      return placeChunk(chunk, offsetOfEntryId(String(first))!, Number(String(ordinal)));
    },
    async page(from, to, messagesWanted) {
      const values = {
        firstId: entryIdOf(from),
        lastId: to === undefined ? '+' : entryIdOf(to),
        messagesWanted,
        chunksMax: PAGE_CHUNKS_MAX,
        bytesMax: PAGE_BYTES_MAX,
      };
      const known = tail.known;
      const answer = await call('page', logKeys, values);
      const [head, entries] = answer as [Fields | null, Entry[]];
      if (!tail.continues(head, known)) return { kind: 'changed' };
      const { epoch } = tail.known;
      const stored = await redis.values(entries.map(messagesKeyOf));
      if (tail.known.epoch !== epoch) return { kind: 'changed' };
      const chunks: Chunk[] = [];
      for (const [index, entry] of entries.entries()) {
        const { firstOffset, lastOffset, firstOrdinal } = readSpan(entry)!;
        const value = stored[index];
        if (value == null) {
          // Another process has trimmed the chunk, or Redis has dropped its messages. The log is trimmed up
          // to here, so that readers learn that messages are gone.
          await trimBefore(lastOffset + 1n);
          return { kind: 'changed' };
        }
        // The value is copied, because it is a part of a buffer that would stay in memory with all other
        // replies in it.
        chunks.push(placeChunk(openChunk(firstOffset, copyOf(value)), firstOffset, firstOrdinal));
      }
      return { kind: 'chunks', chunks };
    },
    trimBefore,
    async close() {
      for (const stop of stops) await stop();
    },
  };
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
