import type { EncodedBatch } from '../../contract/encode-messages.ts';
import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';

/**
 * The log of one workgroup: an ordered, append-only record of about one hour of messages. A table is a filter
 * on it, so all tables share one order. Every implementation passes test/stream/log/log-conformance.ts.
 *
 * - A reader never sees message N + 1 before N, and never a message that is not stored.
 * - Offsets never go back, even if the clock does, or the process starts again.
 * - Messages older than the retention are never served, even if they are not trimmed yet.
 */
export interface StreamLog {
  /**
   * Appends messages together: all or none, with consecutive offsets. The batch then belongs to the log.
   * @returns when the messages survive a crash of the process and of the machine
   * @throws StreamError StorageUnavailable if they could not be stored. They are never served then, unless
   *   they were on disk before the failure
   */
  append(batch: EncodedBatch): Promise<Appended>;

  /**
   * Appends messages of the service itself that follow from the log. Several processes may want to announce
   * the same thing, so the log accepts an announcement only from a caller that has read all earlier ones.
   * @param readTo the offset up to which the caller has read the log
   * @returns 'outdated' if there is an announcement at or after `readTo`; the caller must read it and decide
   *   again
   * @throws StreamError as `append` does
   */
  announce(batch: EncodedBatch, readTo: Offset): Promise<Appended | 'outdated'>;

  /** Reads forward from a position and does not wait. A large backlog takes several calls; see `upToDate`. */
  read(request: LogReadRequest): Promise<LogReadOutcome>;

  bounds(): Promise<LogBounds>;

  /**
   * The first chunk with a message at or after `position`. The service reads tables and devices from it
   * without decoding messages. It also returns stored messages that are older than the retention.
   */
  chunkFrom(position: Offset): Promise<Chunk | undefined>;

  /**
   * Resolves if a message at or after `position` is stored, the signal aborts or the log closes. It never
   * rejects; the caller reads again.
   */
  waitFor(position: Offset, signal: AbortSignal): Promise<void>;

  /** The number of messages at or after `position`, of all tables. */
  countFrom(position: Offset): Promise<number>;

  /** Frees the storage of messages older than the retention. Reads do not depend on it. */
  trim(): Promise<void>;

  /**
   * How many bytes of the log's file were read or trimmed since the log was opened. The system counts them as
   * memory of this process until the log is closed. 0 or undefined if the log is not a file.
   */
  readonly fileBytesRead?: number;

  /** Stores the accepted messages and closes. Further calls change nothing. */
  close(): Promise<void>;
}

export interface Appended {
  firstOffset: Offset;
  lastOffset: Offset;
  count: number;
}

/** The end of a log. */
export interface LogHead {
  epoch: string;
  /** One past the newest message. */
  next: Offset;
  /** True if no message is stored. */
  isEmpty: boolean;
}

export interface LogBounds {
  /** The oldest message that can be read, or `next` if there is none. */
  earliest: Offset;
  /** One past the newest message. A reader at this offset has read everything. */
  next: Offset;
  /** A random id of the log. A log that is created again has another one. */
  epoch: string;
}

/** The messages that a caller may see. An absent member does not filter. */
export interface ReadFilter {
  table?: string;
  /** Excludes the messages of one table. */
  exceptTable?: string;
  /** Device ids in lower case. Messages without a device are then not visible. */
  devices?: ReadonlySet<string>;
}

export interface LogReadRequest {
  /** The first offset to read. `oldest` cannot expire, an offset can. */
  from: Offset | 'oldest';
  /** The largest number of messages, at least 1. */
  limit: number;
  /** The largest size of all messages, in bytes. */
  bytesMax: number;
  /** True if the first message may exceed `bytesMax`. */
  oneAtLeast: boolean;
  filter?: ReadFilter;
  /**
   * Who reads. If several readers read much at once, they take turns; see `ReadTurns`. Default: the service
   * itself.
   */
  reader?: string;
  /** Ends a read that takes several turns, with the messages so far. */
  signal?: AbortSignal;
  /**
   * Called after each chunk with what was looked through. If it returns false, the read ends. Default:
   * `createScanBound`.
   */
  mayContinue?: (messages: number, bytes: number) => boolean;
}

export type LogReadOutcome =
  | {
      kind: 'batch';
      /** The bytes of stored messages. They must not be changed. */
      parts: Uint8Array[];
      count: number;
      bytes: number;
      /** One past the last message that was scanned, filtered messages included. */
      nextOffset: Offset;
      /** True if nothing is stored at or after `nextOffset`. */
      upToDate: boolean;
      /** True if the limit or the byte cap ended the read. */
      full: boolean;
      bounds: LogBounds;
    }
  /** Messages at or after the position existed and cannot be read any more. */
  | { kind: 'expired'; bounds: LogBounds }
  /** The position lies past the end, so it belongs to another log or to a lost end of this log. */
  | { kind: 'ahead'; bounds: LogBounds };
