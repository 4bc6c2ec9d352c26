import type { UtcMs } from '../lib/time.ts';

/**
 * An offset is an unsigned 64-bit integer: the store time in milliseconds in the upper 44 bits, a sequence
 * number in the lower 20. So the order of offsets is the order of store times, and the start for a timestamp
 * needs no search. Only the log computes with offsets. Clients store an offset and send it back.
 */
export type Offset = bigint;

const SEQUENCE_BITS = 20n;
export const OFFSET_MAX: Offset = 2n ** 64n - 1n;

/** The first offset that a message appended at `ms` can have. */
export function offsetOf(ms: UtcMs): Offset {
  return BigInt(ms) << SEQUENCE_BITS;
}

/** The store time in an offset of our log. */
export function offsetMs(offset: Offset): UtcMs {
  return Number(offset >> SEQUENCE_BITS);
}

/**
 * The offset after `last`, or the first offset of this millisecond if the clock has moved on. Offsets never
 * go back when the clock does. When a millisecond is full, the sequence continues in the next one.
 */
export function nextOffset(last: Offset | undefined, nowMs: UtcMs): Offset {
  const fresh = offsetOf(nowMs);
  return last === undefined || fresh > last ? fresh : last + 1n;
}

export function laterOffset(a: Offset, b: Offset): Offset {
  if (a > b) return a;
  return b;
}

export function earlierOffset(a: Offset, b: Offset): Offset {
  if (a < b) return a;
  return b;
}

/** Reads an offset from a URL: decimal digits of at most 64 bits. Undefined for other text. */
export function parseOffset(text: string): Offset | undefined {
  if (!/^\d{1,20}$/.test(text)) return undefined;
  const offset = BigInt(text);
  return offset <= OFFSET_MAX ? offset : undefined;
}
