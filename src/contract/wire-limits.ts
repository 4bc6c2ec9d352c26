import { cborLimits } from '../cbor/cbor-limits.ts';
import { MEBIBYTE } from '../lib/units.ts';

/**
 * All limits of the contract. A name ends with what is counted, or with its unit: messages, bytes,
 * characters, ms. The name of a maximum then ends with `Max`.
 */
export const limits = {
  /** Messages in one REST answer: the default and the maximum. */
  messagesPerReadMax: 10_000,
  /** An answer ends before the message that would exceed this size. It always has at least one message. */
  readBytesMax: 8 * MEBIBYTE,
  /** An answer waits this long for another message before it is sent. */
  idleTimeoutMs: 1_000,
  /** A request is held at most this long, even if messages keep arriving. */
  readHoldMsMax: 20_000,
  /** Messages stay in the stream this long after their store time. */
  retentionMs: 3_600_000,
  /** One ingest request. */
  itemsPerIngestMax: 10_000,
  ingestBytesMax: 8 * MEBIBYTE,
  /**
   * The bodies of one token that arrive, and its answers that are not read yet: sixteen of the largest size.
   */
  bytesUnderWayMax: 128 * MEBIBYTE,
  /** One message: its fields, and its encoded bytes. */
  fieldsPerMessageMax: 1_000,
  messageBytesMax: MEBIBYTE,
  /** Characters of a table, source or field name. */
  nameCharactersMax: 128,
  /** Characters of a text value. */
  textCharactersMax: 4_096,
  /** Instants are within the years 1970 to 9999. */
  instantMsMax: 253_402_300_799_999,
  ...cborLimits,
  /** One frame of a socket. A message that is larger by itself is still sent. */
  frameMessagesMax: 1_000,
  frameBytesMax: MEBIBYTE,
  /** Frames of a subscription that may wait for an acknowledgement, if the client acknowledges frames. */
  framesUnacknowledgedMax: 4,
  /**
   * An idle subscription gets an empty frame this often. It tells the client that the connection works, and
   * its position.
   */
  frameIdleMs: 15_000,
} as const;
