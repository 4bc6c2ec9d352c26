import { type Backoff, defaultBackoff, systemWaiting, type Waiting, withRetries } from '../client/backoff.ts';
import type { TokenSource } from '../client/rest-source.ts';
import { errorCode, errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { answerError } from './answer-error.ts';
import { ANSWER_BYTES_MAX, readAnswer } from './read-answer.ts';

export interface ReportRequestOptions {
  /** The URL before `/api/v1/...`; it may have a path. */
  url: string;
  /**
   * A bearer token, or a function that returns one. It is called again with `true` if its token was refused.
   */
  token: TokenSource;
  workgroup: string;
  /** The largest answer that is not read as rows. Default: 64 MiB. */
  bytesMax?: number;
  /** The time of one attempt; for rows, of each wait for more of them. Default: 60 s. */
  timeoutMs?: number;
  /** Attempts and waits. Default: 4 attempts. A `Retry-After` is respected up to a minute. */
  backoff?: Partial<Backoff>;
  waiting?: Waiting;
  /** Sends a request. Default: the `fetch` of the runtime. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The parameters of a request. A list becomes one parameter, separated by commas. */
export type Parameters = Readonly<
  Record<string, string | number | bigint | readonly string[] | boolean | undefined>
>;

export interface ReportRequest {
  /**
   * Sends the request until it is answered with 200 or 304. `read` takes the answer within the time of the
   * attempt.
   */
  send<Answer>(
    path: string,
    parameters: Parameters,
    options: {
      headers?: Record<string, string>;
      signal?: AbortSignal | undefined;
      read: (response: Response) => Promise<Answer>;
      /** Begins the time limit of an attempt; rows bring their own. */
      limit?: () => AbortSignal;
    },
  ): Promise<Answer>;
  bytesMax: number;
  timeoutMs: number;
}

/** A report may wait for 30 s for the message of `after`. */
const TIMEOUT_MS = MINUTE_MS;
const ERROR_BYTES_MAX = 64 * 1024;
/** Four attempts within half a minute, or longer if a server asks for it. */
const reportBackoff: Backoff = { ...defaultBackoff, attemptsMax: 4 };

/**
 * Creates the sender of a client. The token goes to the origin of `url` only.
 * @throws TerminalError InvalidUrl
 */
export function createReportRequest(options: ReportRequestOptions): ReportRequest {
  const base = baseOf(options.url);
  const { waiting = systemWaiting, timeoutMs = TIMEOUT_MS, bytesMax = ANSWER_BYTES_MAX } = options;
  const backoff = { ...reportBackoff, ...options.backoff };
  const send = options.fetch ?? fetch;
  const prefix = `${base}/api/v1/orgs/${encodeURIComponent(options.workgroup)}/`;

  async function tokenOf(renew: boolean): Promise<string> {
    const token = typeof options.token === 'function' ? await options.token(renew) : options.token;
    // An error about a header would repeat it.
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new TerminalError('InvalidToken', 'the token is empty, or has a character that no token has');
    return token;
  }

  return {
    bytesMax,
    timeoutMs,
    send(path, parameters, { headers = {}, signal, read, limit }) {
      const what = `GET ${path} of ${options.workgroup}`;
      const attempt = async (token: string) => {
        const within = limit?.() ?? AbortSignal.timeout(timeoutMs);
        try {
          const response = await send(`${prefix}${path}${queryText(parameters)}`, {
            headers: { ...headers, authorization: `Bearer ${token}` },
            // Another origin must not get the token, and a report never redirects.
            redirect: 'manual',
            signal: signal ? AbortSignal.any([signal, within]) : within,
          });
          if (response.status === 200 || response.status === 304)
            return { kind: 'answer', answer: await read(response) } as const;
          if (response.status >= 300 && response.status < 400) throw redirectError(what);
          const text = await readAnswer(response, ERROR_BYTES_MAX);
          const error = answerError(response, text, { what, token, nowMs: waiting.clock.now() });
          return { kind: 'error', error, isRefused: response.status === 401 } as const;
        } catch (error) {
          signal?.throwIfAborted();
          throw asFailure(error, what, within);
        }
      };
      return withRetries(
        async () => {
          const token = await tokenOf(false);
          let outcome = await attempt(token);
          if (outcome.kind === 'error' && outcome.isRefused && typeof options.token === 'function') {
            const renewed = await tokenOf(true);
            if (renewed !== token) outcome = await attempt(renewed);
          }
          if (outcome.kind === 'error') throw outcome.error;
          return outcome.answer;
        },
        { backoff, waiting, signal },
      ).catch((error: unknown) => {
        // The last error says more than that there were several.
        throw error instanceof TransientError && error.cause instanceof TransientError ? error.cause : error;
      });
    },
  };
}

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The address is not repeated, because it may contain a password.
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new TerminalError(
      'InvalidUrl',
      'url must be an address such as https://energy.example.com, without a user and a password',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function queryText(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, Array.isArray(value) ? value.join(',') : String(value));
  return query.size === 0 ? '' : `?${query}`;
}

function redirectError(what: string): TerminalError {
  return new TerminalError(
    'RedirectRefused',
    `${what}: the server redirects to another address; give its final address as url`,
  );
}

function asFailure(error: unknown, what: string, within: AbortSignal): Error {
  if (error instanceof TransientError || error instanceof TerminalError) return error;
  if (within.aborted) return new TransientError('AnswerTimeout', `${what}: no complete answer in time`);
  const cause = error instanceof Error ? error.cause : undefined;
  const reason = errorCode(cause) ?? errorMessage(cause ?? error);
  return new TransientError('NetworkFailure', `${what}: ${reason}`, { details: { cause: reason } });
}
