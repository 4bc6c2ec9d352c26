import type { Offset } from './offset.ts';

/** Every error of the contract: its HTTP status, and whether the same request may succeed later. */
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

/** What an error says beyond its code and message. */
export interface StreamErrorDetails {
  parameter?: string;
  required?: string[];
  earliestOffset?: Offset;
  nextOffset?: Offset;
  epoch?: string;
  correlationId?: string;
  items?: Array<{ index: number; field: string; reason: string }>;
  /** What is wrong with an uploaded file, by line; the first of them, and how many there are. */
  problems?: Array<{ line: number; column?: string | undefined; message: string }>;
  problemCount?: number;
}

/** The error map that goes over the wire, in CBOR on the stream and in JSON on the report. */
export interface StreamErrorBody extends StreamErrorDetails {
  error: StreamErrorCode;
  message: string;
  status: number;
  retryable: boolean;
}

/** An answer of the contract that is not a success. Thrown by handlers, written by the HTTP and socket edges. */
export class StreamError extends Error {
  readonly code: StreamErrorCode;
  readonly details: StreamErrorDetails;
  /** Seconds for `Retry-After`, where waiting helps. */
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
