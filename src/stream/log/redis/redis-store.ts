import { randomUUID } from 'node:crypto';
import type { EncodedBatch } from '../../../contract/encode-messages.ts';
import type { Offset } from '../../../contract/offset.ts';
import type { Logger } from '../../../lib/logger.ts';
import { type Clock, MINUTE_MS, type UtcMs } from '../../../lib/time.ts';
import { MEBIBYTE } from '../../../lib/units.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import type { RedisValue, StoredValue } from '../../../redis/redis-script.ts';
import { type Chunk, type ChunkSpan, openChunk, packChunk, placeChunk } from '../chunk.ts';
import {
  type Entry,
  entryIdOf,
  type Fields,
  type KnownTail,
  messagesKeyOf,
  offsetOfEntryId,
  offsetParts,
  readLogHead,
  readSpan,
} from './redis-replies.ts';
import {
  appendScript,
  argumentsOf,
  type HistoryName,
  lookScript,
  type NamedScript,
  pageScript,
  trimScript,
} from './redis-scripts.ts';
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

/** Bytes of one page beyond its first chunk. */
const PAGE_BYTES_MAX = 4 * MEBIBYTE;
/** Redis keeps the answer to an append for this long, because the append may be repeated. */
const ANSWER_KEPT_MS = 10 * MINUTE_MS;

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

  /** Runs a script that begins with `history`, and applies the head in its answer. */
  const runKnowing = async <Name extends string>(
    script: NamedScript<Name | HistoryName>,
    keys: readonly string[],
    nowMs: UtcMs,
    values: Readonly<Record<Name, RedisValue>>,
    stored?: StoredValue,
  ) => {
    const { known } = tail;
    const { ms, sequence } = offsetParts(known.lastOffset);
    const newEpoch = randomUUID();
    const knowledge = {
      knownEpoch: known.epoch,
      knownGeneration: known.generation,
      knownMs: ms,
      knownSequence: sequence,
      knownOrdinal: known.nextOrdinal,
      newEpoch,
      nowMs,
    };
    const ran = await redis.run(script, keys, argumentsOf(script, { ...knowledge, ...values }), stored);
    const answer = ran as [Fields, ...unknown[]];
    const head = readLogHead(answer[0]);
    if (tail.known.epoch === '' && head.epoch === newEpoch && head.generation > 1)
      logger.warn({ workgroup: workgroupId, epoch: newEpoch }, 'stream.log-recreated');
    tail.learn(head);
    return { head, answer };
  };

  const trimBefore = async (offset: Offset): Promise<void> => {
    const { ms, sequence } = offsetParts(offset);
    for (;;) {
      const known = tail.known;
      const values = argumentsOf(trimScript, { beforeMs: ms, beforeSequence: sequence });
      const [head, removed] = (await redis.run(trimScript, logKeys, values)) as [Fields | null, number];
      if (!tail.continues(head, known)) return tail.doubt();
      if (removed === 0) return;
    }
  };

  await runKnowing(lookScript, logKeys, options.clock.now(), { positionMs: 0, positionSequence: 0 });

  return {
    get known() {
      return tail.known;
    },
    async listen(given) {
      tail.listen(given);
      stops.push(redis.onReady(given.onDoubt), await redis.subscribe(channel, tail.takeNews));
    },
    async look(position, nowMs) {
      const { ms, sequence } = offsetParts(position);
      const values = { positionMs: ms, positionSequence: sequence };
      const { head, answer } = await runKnowing(lookScript, logKeys, nowMs, values);
      const [, before, at] = answer;
      return { before: readSpan(before), at: readSpan(at), lastOffset: head.lastOffset };
    },
    async append(batches, nowMs, readTo) {
      const chunk = packChunk(batches);
      const { count, value } = chunk;
      const chunkNumber = ++chunksSent;
      const messages = { key: key(`messages:${sender}:${chunkNumber}`), value, keptMs };
      const keys = [...logKeys, key(`sender:${sender}`), messages.key];
      const seen = readTo === undefined ? undefined : offsetParts(readTo);
      const values = {
        sender,
        chunkNumber,
        answerKeptMs: ANSWER_KEPT_MS,
        messages: count,
        bytes: value.length,
        newsChannel: channel,
        readToMs: seen?.ms ?? '',
        readToSequence: seen?.sequence ?? '',
      };
      const { answer } = await repeatUntilAnswered(redis, () =>
        runKnowing(appendScript, keys, nowMs, values, messages),
      );
      const [, first, ordinal] = answer;
      if (first === null) return 'outdated';
      return placeChunk(chunk, offsetOfEntryId(String(first))!, Number(String(ordinal)));
    },
    async page(from, to, messagesWanted) {
      const values = argumentsOf(pageScript, {
        firstId: entryIdOf(from),
        lastId: to === undefined ? '+' : entryIdOf(to),
        messagesWanted,
        bytesMax: PAGE_BYTES_MAX,
      });
      const known = tail.known;
      const answer = await redis.run(pageScript, logKeys, values);
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
