import { cborLimits } from '../cbor/cbor-limits.ts';

/** Every number of the contract, in one place. A unit is the last word of its name. */
export const limits = {
  /** Messages in one REST answer, default and maximum (service.md 8). */
  messagesPerReadMax: 10_000,
  /** Answers end when the next message would pass this size; one message is always returned. */
  readBytesMax: 8 * 1024 * 1024,
  /** An answer waits this long for a next message before it is sent (service.md 4.4 rule 5). */
  idleTimeoutMs: 1_000,
  /** No request is held longer, so that a trickle cannot hold one for ever. */
  readHoldMsMax: 20_000,
  /** How long messages stay in the stream, by their append time (service.md 8). */
  retentionMs: 3_600_000,
  /** One ingest request. */
  itemsPerIngestMax: 10_000,
  ingestBytesMax: 8 * 1024 * 1024,
  /** Of one token at once: bodies that are on their way in, and answers that were not read yet. Sixteen of the largest. */
  bytesUnderWayMax: 128 * 1024 * 1024,
  /** One message: fields, and bytes once encoded. */
  fieldsPerMessageMax: 1_000,
  messageBytesMax: 1024 * 1024,
  /** Characters of a table, source or field name. */
  nameCharactersMax: 128,
  /** Characters of a text value. */
  textCharactersMax: 4_096,
  /** Instants are within the years 1970 to 9999. */
  instantMsMax: 253_402_300_799_999,
  ...cborLimits,
  /** Messages a client reads in one answer, though another vendor's server may send more than it was asked for. */
  messagesPerBodyMax: 100_000,
  /** One frame of a socket, whole; a message that alone is larger is still sent. */
  frameMessagesMax: 1_000,
  frameBytesMax: 1024 * 1024,
  /** Frames a subscription may have under way where the client acknowledges them. */
  framesUnacknowledgedMax: 4,
  /** An idle subscription gets an empty frame this often, so that its client knows that it is alive and where it stands. */
  frameIdleMs: 15_000,
  /** The sequencer may run this far ahead of the clock before it warns. */
  sequencerLeadMsWarn: 5_000,
} as const;
