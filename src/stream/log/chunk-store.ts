import type { Offset } from '../../contract/offset.ts';
import type { Chunk, ChunkSpan } from './chunk.ts';

/** Where the chunks of one log are kept. One caller at a time appends; the log in front of it sees to that. */
export interface ChunkStore {
  readonly epoch: string;

  /** What is stored now, as far as it would survive a crash. */
  tail(): StoreTail;

  /**
   * Stores a chunk after all others.
   * @returns once it is durable; when this rejects, `tail` says whether it was stored all the same
   */
  append(chunk: Chunk): Promise<void>;

  /** The first chunk whose last message is at or after `offset`. */
  chunkFrom(offset: Offset): Chunk | undefined;

  /** Where that chunk lies, for much less work. */
  spanFrom(offset: Offset): ChunkSpan | undefined;

  /** Removes the chunks that lie whole before `offset`, and remembers up to where it went. */
  trimBefore(offset: Offset): Promise<void>;

  close(): Promise<void>;
}

export interface StoreTail {
  /** The newest offset that was ever stored, trimmed ones included; undefined in a new log. */
  lastOffset: Offset | undefined;
  /** The newest offset that was trimmed. */
  trimmedThrough: Offset | undefined;
  /** How many messages the log has taken since it was created. */
  nextOrdinal: number;
}
