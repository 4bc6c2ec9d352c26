/**
 * A batch of messages as columns: what a decoder of the contract produces and what landing consumes.
 * Buffers belong to their producer, are reused from batch to batch, and are longer than `count`.
 */
export interface MessageColumns {
  count: number;
  /** Offsets as pairs of 32-bit words, low word first. */
  offset: Uint32Array;
  /** Name ids; `source` is -1 where the message has none. */
  table: Int32Array;
  source: Int32Array;
  /** Index into `messageKinds`. */
  kind: Uint8Array;
  /** UUIDs as four 32-bit words in DuckDB's order (least significant first, top bit flipped); see `deviceValid`. */
  device: Uint32Array;
  deviceValid: Uint8Array;
  /** Instants as pairs of 32-bit words of a signed 64-bit integer, milliseconds since 1970. */
  eventTime: Uint32Array;
  storeTime: Uint32Array;
  /** Per-device counters, pairs of 32-bit words; see `messageIdValid`. */
  messageId: Uint32Array;
  messageIdValid: Uint8Array;
  /** The numeric fields of message i are `fieldId` and `number` from `fieldStart[i]` to `fieldStart[i + 1]`. */
  fieldStart: Uint32Array;
  fieldId: Int32Array;
  number: Float64Array;
  /**
   * What does not fit the numeric lists, by message: JSON text of an object with the fields that are text, booleans,
   * null or integers beyond 2^53, and for device status and audit messages their own members. Sparse.
   */
  other: Map<number, string>;
  /** Messages that are not as the contract says: never in the columns, kept with their bytes and the reason. */
  rejected: RejectedMessage[];
}

export interface RejectedMessage {
  offset: bigint | undefined;
  reason: string;
  detail: string;
  bytes: Uint8Array;
}

export const messageKinds = ['telemetry', 'device_status', 'audit'] as const;
export type MessageKind = (typeof messageKinds)[number];

/** Names of tables, sources and fields as small integers, shared by a decoder and the warehouse that keeps them. */
export interface NameTable {
  /**
   * The id of a name, a new one where it has not been seen.
   * @throws TooManyNamesError where there is no room for a new one
   */
  idOf(name: string): number;
  /** Whether `idOf` has an id for the name. */
  takes(name: string): boolean;
  nameOf(id: number): string;
  /** Names added since the last call, for the warehouse to store in the same transaction as the batch. */
  takeNew(): Array<{ id: number; name: string }>;
}
