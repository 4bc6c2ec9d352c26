/**
 * Each digit can be matched in one way only. Otherwise a text of 256 KiB of digits and a letter would take
 * minutes.
 */
const DECIMAL = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** True for a decimal number as programs write it, such as `12`, `-1.5e3`, `1.` or `.5`. */
export function isDecimalNumber(text: string): boolean {
  return DECIMAL.test(text);
}

/** Digits of an integer that are read exactly. A longer one is beyond 64 bits anyway. */
const INTEGER = /^[+-]?\d{1,64}$/;

/** Reads a decimal number. Integers beyond 2^53 become bigints. @returns undefined for other text */
export function parseDecimal(text: string): number | bigint | undefined {
  if (!isDecimalNumber(text)) return undefined;
  const value = Number(text);
  return INTEGER.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}
