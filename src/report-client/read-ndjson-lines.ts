import { TerminalError } from '../lib/errors.ts';

/** The longest line of rows, in bytes of UTF-8. The longest row of a service is far shorter. */
export const LINE_BYTES_MAX = 1024 * 1024;

/**
 * The lines of a body, without empty ones. Only one chunk and one line are in memory.
 * @throws TerminalError AnswerTooLarge if a line is longer than the limit
 */
export async function* readNdjsonLines(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number = LINE_BYTES_MAX,
): AsyncGenerator<string, void, undefined> {
  const withinLimit = (line: string): string => {
    if (Buffer.byteLength(line) <= bytesMax) return line;
    throw new TerminalError('AnswerTooLarge', `a row is longer than ${bytesMax} bytes`, {
      details: { bytesMax },
    });
  };
  // A chunk can end in the middle of a character.
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line !== '') yield withinLimit(line);
    withinLimit(rest);
  }
  rest += decoder.decode();
  if (rest !== '') yield withinLimit(rest);
}
