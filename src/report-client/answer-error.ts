import { parseRetryAfter } from '../client/backoff.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';

const MESSAGE_LENGTH_MAX = 500;
const RETRYABLE_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/**
 * The error for an answer that is not a success, from any server or proxy. `details` has `status`,
 * `parameter` and `retryAfterMs`.
 * @param text the body
 * @param token is left out, even if the server repeats it
 */
export function answerError(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  text: string,
  { what, token, nowMs }: { what: string; token: string; nowMs: number },
): TransientError | TerminalError {
  const body = membersOf(text);
  const isOurs = typeof body.error === 'string' && typeof body.message === 'string';
  const reason = isOurs ? String(body.message) : `the server answered ${status}`;
  const message = `${what}: ${reason}`.replaceAll(token, '[token]').slice(0, MESSAGE_LENGTH_MAX);
  const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? undefined, nowMs);
  const details = {
    status,
    ...(typeof body.parameter === 'string' && { parameter: body.parameter }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  const code = isOurs ? String(body.error).slice(0, 64) : `Http${status}`;
  const isRetryable =
    typeof body.retryable === 'boolean' ? body.retryable : RETRYABLE_STATUSES.includes(status);
  return isRetryable
    ? new TransientError(code, message, { details })
    : new TerminalError(code, message, { details });
}

function membersOf(text: string): Record<string, unknown> {
  const value = tryParseJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
