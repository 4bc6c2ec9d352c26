import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../lib/time.ts';

/**
 * A batch of messages as columns. Decoders produce it and landing consumes it. The buffers belong to the
 * producer, which uses them again for the next batch. They may be longer than `count`.
 */
export interface MessageColumns {
  count: number;
  /** Offsets as pairs of 32-bit words, the low word first. */
  offset: Uint32Array;
  /** Name ids. `source` is -1 if the message has no source. */
  table: Int32Array;
  source: Int32Array;
  /** Index into `messageKinds`. */
  kind: Uint8Array;
  /**
   * UUIDs as four 32-bit words in DuckDB's order: the least significant word first, the top bit flipped. See
   * `deviceValid`.
   */
  device: Uint32Array;
  deviceValid: Uint8Array;
  /** Instants as pairs of 32-bit words of a signed 64-bit integer, milliseconds since 1970. */
  eventTime: Uint32Array;
  storeTime: Uint32Array;
  /** Counters of devices as pairs of 32-bit words. See `messageIdValid`. */
  messageId: Uint32Array;
  messageIdValid: Uint8Array;
  /**
   * The numeric fields of message i are `fieldId` and `number` from `fieldStart[i]` to `fieldStart[i + 1]`.
   */
  fieldStart: Uint32Array;
  fieldId: Int32Array;
  number: Float64Array;
  /**
   * By index of a message: the JSON text of an object with everything that is not a number. These are texts,
   * booleans, null and integers beyond 2^53, and the special members of device status and audit messages.
   * Messages without them are absent.
   */
  other: Map<number, string>;
  /** Messages that break the contract. They are not in the columns; their bytes and the reason are kept. */
  rejected: RejectedMessage[];
}

/** The offset of the message in this row. */
export function offsetAt({ offset }: Pick<MessageColumns, 'offset'>, row: number): Offset {
  return (BigInt(offset[2 * row + 1]!) << 32n) | BigInt(offset[2 * row]!);
}

/** The instant, or another whole number up to 2^53, in a pair of words of a signed 64-bit column. */
export function instantAt(words: Uint32Array, row: number): UtcMs {
  return (words[2 * row + 1]! | 0) * 0x1_0000_0000 + words[2 * row]!;
}

export interface RejectedMessage {
  offset: bigint | undefined;
  reason: string;
  detail: string;
  bytes: Uint8Array;
}

export const messageKinds = ['telemetry', 'device_status', 'audit'] as const;
export type MessageKind = (typeof messageKinds)[number];

/** Names of tables, sources and fields as small integers. A decoder and its warehouse share one table. */
export interface NameTable {
  /**
   * The id of a name. A new name gets a new id.
   * @throws TooManyNamesError if there is no room for a new name
   */
  idOf(name: string): number;
  /** True if `idOf` would return an id for the name. */
  takes(name: string): boolean;
  /**
   * The id of the name of a table, which counts as a table from now on.
   * @throws TooManyNamesError if there is no room for a new table or a new name
   */
  tableIdOf(name: string): number;
  /** True if `tableIdOf` would return an id for the name. */
  takesTable(name: string): boolean;
  nameOf(id: number): string;
  /** Names added since the last call. The warehouse stores them in the same transaction as the batch. */
  takeNew(): NewNames;
}

/** New names, and the ids of names that are new as tables. */
export interface NewNames {
  names: Array<{ id: number; name: string }>;
  tables: number[];
}
