import { isUtf8 } from 'node:buffer';

/** How the text of a file can be encoded. Windows-1252 contains Latin-1. */
type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

type DecodedText =
  | { kind: 'text'; text: string; encoding: TextEncoding }
  /** The file is not text. */
  | { kind: 'binary' }
  /** UTF-32 cannot be decoded here. */
  | { kind: 'utf-32' }
  /** Some lines are UTF-8 and these are not, so no encoding fits the whole file. */
  | { kind: 'mixed'; lines: Array<{ line: number; byte: number }> };

/**
 * Share of the bytes at even or odd places that are zero in UTF-16 of Western text, and in any other text.
 */
const WIDE_ZEROS_MIN = 0.5;
const OTHER_ZEROS_MAX = 0.1;

/**
 * Detects the encoding of a text from its first bytes.
 * @returns undefined if the bytes are not text
 */
export function detectEncoding(bytes: Uint8Array): TextEncoding | undefined {
  if (isUtf32(bytes)) return undefined;
  const wide = wideEncoding(bytes);
  if (wide) return wide;
  if (isBinary(bytes)) return undefined;
  return beginsUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

/** Decodes a whole file. A byte order mark is removed. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const detected = detectEncoding(bytes);
  if (detected === undefined) return { kind: isUtf32(bytes) ? 'utf-32' : 'binary' };
  const isNarrow = detected === 'utf-8' || detected === 'windows-1252';
  const encoding = isNarrow ? (isUtf8(bytes) ? 'utf-8' : 'windows-1252') : detected;
  if (encoding === 'windows-1252') {
    const { isMixed, lines } = findForeignLines(bytes);
    if (isMixed) return { kind: 'mixed', lines };
  }
  return { kind: 'text', text: new TextDecoder(encoding).decode(bytes), encoding };
}

/** True if the bytes are UTF-8, but the last character may continue after them. */
function beginsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * True if a text is UTF-32: its first character is a byte order mark or of ASCII, in 4 bytes. Other text has
 * no two zeros there.
 */
export function isUtf32(bytes: Uint8Array): boolean {
  const [first = 0, second = 0, third, fourth] = bytes;
  if (third === undefined || fourth === undefined) return false;
  const isLittle =
    third === 0 && fourth === 0 && (second === 0 ? first > 0 && first < 0x80 : isMark(second, first));
  const isBig =
    first === 0 && second === 0 && (third === 0 ? fourth > 0 && fourth < 0x80 : isMark(third, fourth));
  return isLittle || isBig;
}

/** The byte order mark U+FEFF. */
function isMark(high: number, low: number): boolean {
  return high === 0xfe && low === 0xff;
}

/** UTF-16 begins with a byte order mark, or every second byte of its Western text is zero. */
function wideEncoding(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2]! += 1;
  const [even = 0, odd = 0] = zeros.map((count) => count / Math.max(1, sample.length / 2));
  if (odd > WIDE_ZEROS_MIN && even < OTHER_ZEROS_MAX) return 'utf-16le';
  return even > WIDE_ZEROS_MIN && odd < OTHER_ZEROS_MAX ? 'utf-16be' : undefined;
}

const SAMPLE_BYTES = 64 * 1024;
/**
 * Text has at most this share of control characters, such as form feeds, and a few more, which count in a
 * short file. In packed data a ninth of the bytes are control characters.
 */
const CONTROLS_SHARE_MAX = 0.02;
const CONTROLS_MORE_MAX = 5;

function isBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const controls = sample.reduce(
    (sum, byte) => sum + Number(byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d),
    0,
  );
  return controls > sample.length * CONTROLS_SHARE_MAX + CONTROLS_MORE_MAX;
}

/**
 * The lines that are not UTF-8. `isMixed` is true if the file mixes encodings: another line has characters of
 * several bytes in UTF-8, or a line has a byte that is no character of Windows-1252.
 */
function findForeignLines(bytes: Uint8Array): {
  isMixed: boolean;
  lines: Array<{ line: number; byte: number }>;
} {
  const lines: Array<{ line: number; byte: number }> = [];
  let isMixed = false;
  for (let line = 1, start = 0; start < bytes.length; line++) {
    const next = bytes.indexOf(0x0a, start);
    const end = next < 0 ? bytes.length : next;
    const part = bytes.subarray(start, end);
    start = end + 1;
    const byte = part.find((one) => one >= 0x80);
    if (byte === undefined) continue;
    if (isUtf8(part)) isMixed = true;
    else lines.push({ line, byte });
    isMixed ||= part.some((one) => UNASSIGNED.includes(one));
  }
  return { isMixed, lines };
}

/** Bytes that no character of Windows-1252 has. */
const UNASSIGNED: readonly number[] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
