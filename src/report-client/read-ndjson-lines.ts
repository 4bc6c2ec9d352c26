import { TerminalError } from '../lib/errors.ts';

/** The longest line of rows. The longest row of a service is far shorter. */
export const LINE_BYTES_MAX = 1024 * 1024;

/**
 * The lines of a body, without empty ones. Only one chunk and one line are in memory.
 * @throws TerminalError AnswerTooLarge if a line is longer than the limit
 */
export async function* readLines(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number = LINE_BYTES_MAX,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    if (rest.length > bytesMax)
      throw new TerminalError('AnswerTooLarge', `a row is longer than ${bytesMax} bytes`, {
        details: { bytesMax },
      });
    for (const line of lines) if (line !== '') yield line;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
