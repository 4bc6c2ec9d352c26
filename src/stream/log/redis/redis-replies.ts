import { type Offset, offsetMs, offsetOf } from '../../../contract/offset.ts';
import { TerminalError } from '../../../lib/errors.ts';
import type { ChunkSpan } from '../chunk.ts';

/** The end of a log in the last answer of Redis. */
export interface KnownTail {
  epoch: string;
  /** A number that grows with each epoch, so that old and new epochs can be distinguished. */
  generation: number;
  /** The newest offset that was ever assigned; undefined in a new log. */
  lastOffset: Offset | undefined;
  /** The number of messages that the log has stored since it was created. */
  nextOrdinal: number;
  trimmedThrough: Offset | undefined;
}

export const REDIS_FORMAT = 1;

export type Fields = Buffer[];
export type Entry = [Buffer, Fields];

export function readLogHead(fields: readonly unknown[]): KnownTail {
  const [epoch, generation, last, trimmed, ordinal, format] = fields.map(String);
  if (Number(format) !== REDIS_FORMAT)
    throw new TerminalError(
      'UnknownFormat',
      `the log in Redis has format ${format}, this version reads ${REDIS_FORMAT}: use a later version`,
    );
  return {
    epoch: epoch!,
    generation: Number(generation),
    lastOffset: offsetOfEntryId(last!),
    trimmedThrough: offsetOfEntryId(trimmed!),
    nextOrdinal: Number(ordinal),
  };
}

/**
 * The places of values in an entry. An entry is a list of names, each followed by its value. The third value
 * is the size.
 */
const COUNT_AT = 1;
const ORDINAL_AT = 3;
const KEY_AT = 7;

/** Reads an entry of the stream. Its id is the offset of the last message. */
export function readSpan(entry: unknown): ChunkSpan | undefined {
  if (entry === null) return undefined;
  const [id, fields] = entry as Entry;
  const lastOffset = offsetOfEntryId(String(id))!;
  return {
    firstOffset: lastOffset - BigInt(String(fields[COUNT_AT])) + 1n,
    lastOffset,
    firstOrdinal: Number(String(fields[ORDINAL_AT])),
  };
}

/** The key of the messages of an entry. */
export function messagesKeyOf([, fields]: Entry): string {
  return String(fields[KEY_AT]);
}

export function offsetParts(offset: Offset | undefined): { ms: number; sequence: number } {
  if (offset === undefined) return { ms: -1, sequence: 0 };
  const ms = offsetMs(offset);
  return { ms, sequence: Number(offset - offsetOf(ms)) };
}

export function entryIdOf(offset: Offset): string {
  const { ms, sequence } = offsetParts(offset);
  return `${ms}-${sequence}`;
}

/** The offset of an id; undefined for `-1-0`, which means no offset. */
export function offsetOfEntryId(id: string): Offset | undefined {
  const at = id.lastIndexOf('-');
  const ms = Number(id.slice(0, at));
  return ms < 0 ? undefined : offsetOf(ms) + BigInt(id.slice(at + 1));
}
