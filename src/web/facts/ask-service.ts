import { sentence } from '../words/sentence.ts';

/** The members of the body of an error that the page uses. */
interface ServiceError {
  message?: string;
  nearestDays?: { before: string | null; after: string | null };
}

/** Why there is no answer, in the words that the page shows. */
export interface Failure {
  kind: 'signed-out' | 'forbidden' | 'not-found' | 'refused' | 'busy' | 'unreachable';
  message: string;
  /** The days with energy before and after a day that has none. */
  nearestDays?: ServiceError['nearestDays'];
}

export class RequestError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'RequestError';
    this.failure = failure;
  }
}

export interface AskOptions {
  token: string;
  method?: 'GET' | 'POST' | 'DELETE';
  /** The entity tag of the answer that is already there. */
  etag?: string | undefined;
  body?: unknown;
  signal?: AbortSignal;
}

/**
 * Asks the service.
 * @returns undefined if the answer with this entity tag has not changed
 * @throws RequestError with the words for people; an AbortError if the signal fires
 */
export async function askService<Answer>(
  path: string,
  { token, method = 'GET', etag, body, signal }: AskOptions,
): Promise<{ answer: Answer; etag: string | undefined } | undefined> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(etag !== undefined && { 'If-None-Match': etag }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      // The page keeps answers itself.
      cache: 'no-store',
      credentials: 'omit',
    });
    if (response.status === 304) return undefined;
    if (response.ok)
      return { answer: (await response.json()) as Answer, etag: response.headers.get('ETag') ?? undefined };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError({
      kind: 'unreachable',
      message: 'The service cannot be reached. The page tries again by itself.',
    });
  }
  throw new RequestError(await failureOf(response));
}

async function failureOf(response: Response): Promise<Failure> {
  const { message = '', nearestDays } = await readError(response);
  // An error of the service begins with the parameter.
  const words =
    sentence(message.replace(/^[a-zA-Z]+: /, '')) || `The service answered with status ${response.status}.`;
  switch (response.status) {
    case 401:
      return {
        kind: 'signed-out',
        message: `Your token is not accepted any more: ${message || 'it was refused'}. Ask for a new one.`,
      };
    case 403:
      return { kind: 'forbidden', message: words };
    case 404:
      return { kind: 'not-found', message: words, ...(nearestDays && { nearestDays }) };
    case 429:
      return { kind: 'busy', message: words };
    default:
      return { kind: response.status >= 500 ? 'busy' : 'refused', message: words };
  }
}

async function readError(response: Response): Promise<ServiceError> {
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}
