import type { Offset } from './offset.ts';

/**
 * The errors of the contract with their HTTP status. `retryable` is true if the same request may succeed
 * later.
 */
export const streamErrors = {
  InvalidOffset: { status: 400, retryable: false },
  InvalidTimestamp: { status: 400, retryable: false },
  InvalidLimit: { status: 400, retryable: false },
  InvalidRequest: { status: 400, retryable: false },
  DuplicateRequest: { status: 400, retryable: false },
  AuthenticationRequired: { status: 401, retryable: false },
  InvalidToken: { status: 401, retryable: false },
  InsufficientScope: { status: 403, retryable: false },
  WorkgroupForbidden: { status: 403, retryable: false },
  NotFound: { status: 404, retryable: false },
  MethodNotAllowed: { status: 405, retryable: false },
  OffsetExpired: { status: 410, retryable: false },
  PayloadTooLarge: { status: 413, retryable: false },
  UnsupportedMediaType: { status: 415, retryable: false },
  OffsetAhead: { status: 416, retryable: false },
  RateLimited: { status: 429, retryable: true },
  Internal: { status: 500, retryable: true },
  Draining: { status: 503, retryable: true },
  StorageUnavailable: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type StreamErrorCode = keyof typeof streamErrors;

/** The members of an error in addition to its code and message. */
export interface StreamErrorDetails {
  parameter?: string;
  required?: string[];
  earliestOffset?: Offset;
  nextOffset?: Offset;
  epoch?: string;
  correlationId?: string;
  items?: Array<{ index: number; field: string; reason: string }>;
  /** The first problems of an uploaded file, by line, and the number of all problems. */
  problems?: Array<{ line: number; column?: string | undefined; message: string }>;
  problemCount?: number;
  /** The days with energy before and after a day that has none. */
  nearestDays?: { before: string | null; after: string | null };
}

/** The error map on the wire: CBOR for the stream, JSON for the report. */
interface StreamErrorBody extends StreamErrorDetails {
  error: StreamErrorCode;
  message: string;
  status: number;
  retryable: boolean;
}

/** An error of the contract. Handlers throw it, and the HTTP and socket servers send it. */
export class StreamError extends Error {
  readonly code: StreamErrorCode;
  readonly details: StreamErrorDetails;
  /** Seconds for `Retry-After`; undefined if waiting does not help. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: StreamErrorCode,
    message: string,
    details: StreamErrorDetails = {},
    retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = 'StreamError';
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get status(): number {
    return streamErrors[this.code].status;
  }

  body(): StreamErrorBody {
    const { status, retryable } = streamErrors[this.code];
    return { error: this.code, message: this.message, status, retryable, ...this.details };
  }
}

/**
 * The storage or a worker cannot answer now, which is not an error of the request.
 * @param cause for the log, not for the caller
 */
export function unavailable(message: string, retryAfterSeconds: number, cause?: unknown): StreamError {
  const error = new StreamError('StorageUnavailable', message, {}, retryAfterSeconds);
  if (cause !== undefined) error.cause = cause;
  return error;
}
