/** The value of a hexadecimal digit by its character code; 255 for all other bytes. */
const digitValues = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? 255 : value;
});

export const DEVICE_TEXT_BYTES = 36;
const HYPHEN = 0x2d;

/**
 * Reads the text of a UUID, in upper or lower case, into the words of the device column.
 * @returns false if the text is not a UUID; the words are then undefined
 */
export function readDevice(bytes: Uint8Array, at: number, words: Uint32Array, wordsAt: number): boolean {
  if (
    at + DEVICE_TEXT_BYTES > bytes.length ||
    bytes[at + 8] !== HYPHEN ||
    bytes[at + 13] !== HYPHEN ||
    bytes[at + 18] !== HYPHEN ||
    bytes[at + 23] !== HYPHEN
  ) {
    return false;
  }
  const a = hex4(bytes, at);
  const b = hex4(bytes, at + 4);
  const c = hex4(bytes, at + 9);
  const d = hex4(bytes, at + 14);
  const e = hex4(bytes, at + 19);
  const f = hex4(bytes, at + 24);
  const g = hex4(bytes, at + 28);
  const h = hex4(bytes, at + 32);
  if ((a | b | c | d | e | f | g | h) > 0xffff) return false;
  words[wordsAt] = (g << 16) | h;
  words[wordsAt + 1] = (e << 16) | f;
  words[wordsAt + 2] = (c << 16) | d;
  words[wordsAt + 3] = ((a << 16) | b) ^ 0x8000_0000;
  return true;
}

/** Reads four hexadecimal digits. Returns more than 0xffff if one of them is not a digit. */
function hex4(bytes: Uint8Array, at: number): number {
  const a = digitValues[bytes[at]!]!;
  const b = digitValues[bytes[at + 1]!]!;
  const c = digitValues[bytes[at + 2]!]!;
  const d = digitValues[bytes[at + 3]!]!;
  return (a | b | c | d) > 15 ? 0x1_0000 : (a << 12) | (b << 8) | (c << 4) | d;
}

/** The text of a UUID, in lower case, from the words of the device column. */
export function deviceText(words: Uint32Array, wordsAt: number): string {
  const hex = [3, 2, 1, 0]
    .map((word) =>
      ((words[wordsAt + word]! ^ (word === 3 ? 0x8000_0000 : 0)) >>> 0).toString(16).padStart(8, '0'),
    )
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
