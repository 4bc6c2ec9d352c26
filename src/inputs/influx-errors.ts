import { StreamError, type StreamErrorCode } from '../contract/stream-errors.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import type { RefusedLine } from './take-lines.ts';

/** Lines of a body were refused. The others, if there are any, are stored. */
export class RefusedLinesError extends StreamError {
  readonly lines: readonly RefusedLine[];

  constructor(
    lines: readonly RefusedLine[],
    { refusedCount, accepted }: { refusedCount: number; accepted: number },
  ) {
    const reasons = lines.slice(0, SHOWN_MAX).map(({ line, reason }) => `line ${line}: ${reason}`);
    const more = refusedCount > SHOWN_MAX ? `; and ${formatCount(refusedCount - SHOWN_MAX)} more` : '';
    const total = formatCountOf(refusedCount + accepted, 'line was refused', 'lines were refused');
    const others = accepted > 0 ? ', and the others were stored' : '';
    super(
      'InvalidRequest',
      `partial write: ${formatCount(refusedCount)} of ${total}${others}: ${reasons.join('; ')}${more}`,
    );
    this.lines = lines;
  }
}

/** Lines in the text of an error. Its list has more. */
const SHOWN_MAX = 5;

/** The words of the API of InfluxDB 2 for an error. */
const codes: Readonly<Record<StreamErrorCode, string>> = {
  InvalidOffset: 'invalid',
  InvalidTimestamp: 'invalid',
  InvalidLimit: 'invalid',
  InvalidRequest: 'invalid',
  DuplicateRequest: 'invalid',
  UnsupportedMediaType: 'invalid',
  AuthenticationRequired: 'unauthorized',
  InvalidToken: 'unauthorized',
  InsufficientScope: 'forbidden',
  WorkgroupForbidden: 'forbidden',
  NotFound: 'not found',
  MethodNotAllowed: 'method not allowed',
  OffsetExpired: 'not found',
  OffsetAhead: 'invalid',
  PayloadTooLarge: 'request too large',
  RateLimited: 'too many requests',
  Draining: 'unavailable',
  StorageUnavailable: 'unavailable',
  Internal: 'internal error',
};

/** The body of an error as clients of InfluxDB 2 read it. */
export function influxError(error: StreamError): object {
  const lines = error instanceof RefusedLinesError ? { line: error.lines[0]?.line, lines: error.lines } : {};
  return { code: codes[error.code], message: error.message, ...lines };
}

/** The body of an error as clients of InfluxDB 1 read it. */
export function influx1Error(error: StreamError): object {
  return { error: error.message };
}
