import type { Offset } from '../../contract/offset.ts';
import type { Chunk, ChunkSpan } from './chunk.ts';

/** The storage for the chunks of one log. The log calls `append` once at a time. */
export interface ChunkStore {
  readonly epoch: string;
  /** See `StreamLog`. */
  readonly fileBytesRead?: number;

  /** The stored state that would survive a crash now. */
  tail(): StoreTail;

  /**
   * Stores a chunk after all others.
   * @returns when it is durable. After an error, `tail` shows if the chunk was stored nevertheless
   */
  append(chunk: Chunk): Promise<void>;

  /** The first chunk that ends at or after `offset`. */
  chunkFrom(offset: Offset): Chunk | undefined;

  /** The position of the chunk that `chunkFrom` returns. It takes much less work. */
  spanFrom(offset: Offset): ChunkSpan | undefined;

  /** Removes the chunks that end before `offset`, and stores how far it came. */
  trimBefore(offset: Offset): Promise<void>;

  close(): Promise<void>;
}

export interface StoreTail {
  /** The newest offset that was ever stored, even if it was trimmed; undefined in a new log. */
  lastOffset: Offset | undefined;
  /** The newest offset that was trimmed. */
  trimmedThrough: Offset | undefined;
  /** The number of messages that the log has stored since it was created. */
  nextOrdinal: number;
}
