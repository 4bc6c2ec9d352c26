import type { LineProblem } from './refusals.ts';

export type DecodedText = { kind: 'text'; text: string } | { kind: 'refused'; problems: LineProblem[] };

/** Reads bytes as UTF-8, with or without a byte order mark. Other encodings are refused: guessing one would spoil names silently. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16 || bytes.subarray(0, 1_000).includes(0)) {
    const message = 'is UTF-16 ("Unicode text" of a spreadsheet) or no text; save it as "CSV UTF-8"';
    return { kind: 'refused', problems: [{ line: 0, message }] };
  }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { kind: 'refused', problems: foreignLines(bytes) };
  }
}

/** The lines that cannot be read. */
function foreignLines(bytes: Uint8Array): LineProblem[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const problems: LineProblem[] = [];
  for (let line = 1, start = 0; start < bytes.length; line++) {
    const next = bytes.indexOf(0x0a, start);
    const end = next < 0 ? bytes.length : next;
    const part = bytes.subarray(start, end);
    try {
      decoder.decode(part);
    } catch {
      const byte = part.find((one) => one >= 0x80) ?? 0;
      const hex = byte.toString(16).toUpperCase().padStart(2, '0');
      const message = `the byte 0x${hex} is no UTF-8: the file may be Latin-1 or Windows-1252; save it as "CSV UTF-8"`;
      problems.push({ line, message });
    }
    start = end + 1;
  }
  return problems;
}
