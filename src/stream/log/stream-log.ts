import type { EncodedBatch } from '../../contract/encode-messages.ts';
import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';

/**
 * The log of one workgroup: an ordered, append-only record of the messages of about one hour. Tables are filters on
 * it, so all of them share one order. Every implementation passes test/stream/log-conformance.ts.
 *
 * - A reader never sees message N + 1 before N, and nothing that is not stored.
 * - Offsets never go back, whatever the clock does, across restarts too.
 * - Messages older than the retention are never served, trimmed or not.
 */
export interface StreamLog {
  /**
   * Appends messages together: consecutive offsets, all or none.
   * The log owns the batch from here on.
   * @returns once the messages would survive a crash of the process and the machine
   * @throws StreamError StorageUnavailable when they could not be stored; then none of them is ever served,
   * unless the fault hit after the disk had them
   */
  append(batch: EncodedBatch): Promise<Appended>;

  /**
   * Appends what the service itself has to say, of those that follow the log only one: whoever has not read what was announced at
   * or after `readTo` is refused, and has to read on before it judges again.
   * @throws StreamError as `append` does
   */
  announce(batch: EncodedBatch, readTo: Offset): Promise<Appended | 'outdated'>;

  /** Reads forward from a position without waiting. Large backlogs take several calls: see `upToDate`. */
  read(request: LogReadRequest): Promise<LogReadOutcome>;

  bounds(): Promise<LogBounds>;

  /**
   * The first messages at or after `position` that were stored together, as they are stored: for the service itself, which looks
   * at who they are about without a look into them. Goes as far back as there is storage, beyond the retention too.
   */
  chunkFrom(position: Offset): Promise<Chunk | undefined>;

  /**
   * Resolves once a message at or after `position` is stored, the signal aborts or the log closes; it never
   * rejects, so that the caller looks again with `read`.
   */
  waitFor(position: Offset, signal: AbortSignal): Promise<void>;

  /** How many messages are at or after `position`, whatever their table: a reader's lag. */
  countFrom(position: Offset): Promise<number>;

  /** Gives storage of messages older than the retention back. Reads do not depend on it. */
  trim(): Promise<void>;

  /** Finishes what was accepted and lets go of everything. Calling it again changes nothing. */
  close(): Promise<void>;
}

export interface Appended {
  firstOffset: Offset;
  lastOffset: Offset;
  count: number;
}

export interface LogBounds {
  /** The oldest message a reader can get; the same as `next` where there is none. */
  earliest: Offset;
  /** One past the newest message: where a reader that has everything stands. */
  next: Offset;
  /** A random id made when the log was created: another one means another log. */
  epoch: string;
}

/** What a caller may see. Absent members do not filter. */
export interface ReadFilter {
  table?: string;
  /** Leaves out the messages of one table. */
  exceptTable?: string;
  /** Lower-case device ids. Messages about no device are not visible through this filter. */
  devices?: ReadonlySet<string>;
}

export interface LogReadRequest {
  /** Inclusive. `oldest` never expires, a position does. */
  from: Offset | 'oldest';
  /** Messages at most, from 1. */
  limit: number;
  /** Bytes of messages at most. */
  bytesMax: number;
  /** Whether the first message is returned even where it alone is larger than `bytesMax`. */
  oneAtLeast: boolean;
  filter?: ReadFilter;
}

export type LogReadOutcome =
  | {
      kind: 'batch';
      /** Stored messages one after another, never to be changed. */
      parts: Uint8Array[];
      count: number;
      bytes: number;
      /** One past the last message that was scanned, visible or not. */
      nextOffset: Offset;
      /** Whether nothing is stored at or after `nextOffset`. */
      upToDate: boolean;
      /** Whether the limit or the byte cap ended the read. */
      full: boolean;
      bounds: LogBounds;
    }
  /** Messages at or after the asked position are gone. */
  | { kind: 'expired'; bounds: LogBounds }
  /** The position lies past the tail: it belongs to another log or to a lost tail. */
  | { kind: 'ahead'; bounds: LogBounds };
