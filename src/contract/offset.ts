import type { UtcMs } from '../lib/time.ts';

/**
 * An offset is an unsigned 64-bit integer: milliseconds of append time in the upper 44 bits, a sequence below.
 * So order by offset is order by append time and "start at this timestamp" is arithmetic. Only the log computes
 * with offsets; clients store what was returned and send it back.
 */
export type Offset = bigint;

const SEQUENCE_BITS = 20n;
export const OFFSET_MAX: Offset = 2n ** 64n - 1n;

/** The first offset a message appended at `ms` can have. */
export function offsetOf(ms: UtcMs): Offset {
  return BigInt(ms) << SEQUENCE_BITS;
}

/** The append time that an offset of ours carries. */
export function offsetMs(offset: Offset): UtcMs {
  return Number(offset >> SEQUENCE_BITS);
}

/**
 * The next offset of a log: one past `last`, or the first of this millisecond where the clock has moved on.
 * A clock that steps back never takes the offset with it; a full sequence carries into the next millisecond.
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

/** Reads an offset from a URL: decimal digits within 64 bits and nothing else. */
export function parseOffset(text: string): Offset | undefined {
  if (!/^\d{1,20}$/.test(text)) return undefined;
  const offset = BigInt(text);
  return offset <= OFFSET_MAX ? offset : undefined;
}
