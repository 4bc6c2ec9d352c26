/**
 * Each digit can be matched in one way only. Otherwise a text of 256 KiB of digits and a letter would take
 * minutes.
 */
const DECIMAL = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** True for a decimal number as programs write it, such as `12`, `-1.5e3`, `1.` or `.5`. */
export function isDecimalNumber(text: string): boolean {
  return DECIMAL.test(text);
}
