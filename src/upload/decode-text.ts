import type { LineProblem } from './refusals.ts';

export type DecodedText = { kind: 'text'; text: string } | { kind: 'refused'; problem: LineProblem };

/** Reads bytes as UTF-8, with or without a byte order mark. Other encodings are refused: guessing one would spoil names silently. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16 || bytes.subarray(0, 1_000).includes(0)) {
    return refused(0, 'is UTF-16 ("Unicode text" of a spreadsheet) or no text; save it as "CSV UTF-8"');
  }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    const { line, byte } = firstForeign(bytes);
    const hex = byte.toString(16).toUpperCase().padStart(2, '0');
    return refused(
      line,
      `the byte 0x${hex} is no UTF-8: the file may be Latin-1 or Windows-1252; save it as "CSV UTF-8"`,
    );
  }
}

function refused(line: number, message: string): DecodedText {
  return { kind: 'refused', problem: { line, message } };
}

/** Where the first line is that cannot be read. */
function firstForeign(bytes: Uint8Array): { line: number; byte: number } {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let line = 1, start = 0; start < bytes.length; line++) {
    const next = bytes.indexOf(0x0a, start);
    const end = next < 0 ? bytes.length : next;
    const part = bytes.subarray(start, end);
    try {
      decoder.decode(part);
    } catch {
      return { line, byte: part.find((byte) => byte >= 0x80) ?? 0 };
    }
    start = end + 1;
  }
  return { line: 1, byte: bytes[0] ?? 0 };
}
