import { TerminalError } from '../lib/errors.ts';

/** The largest answer that is read at once. Larger ones are read as rows. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads a whole body as text. It stops at the first byte beyond the limit, even if the server announces
 * a smaller length.
 * @throws TerminalError AnswerTooLarge; the reason of the request's signal
 */
export async function readAnswer(response: Response, bytesMax: number): Promise<string> {
  if (Number(response.headers.get('content-length') ?? 0) > bytesMax) {
    await response.body?.cancel();
    throw tooLarge(bytesMax);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(bytesMax: number): TerminalError {
  return new TerminalError(
    'AnswerTooLarge',
    `the answer is larger than ${bytesMax} bytes; ask for fewer days or devices, read it as rows, or raise bytesMax`,
    { details: { bytesMax } },
  );
}
