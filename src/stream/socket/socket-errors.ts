import { randomUUID } from 'node:crypto';
import { StreamError } from '../../contract/stream-errors.ts';
import { errorMessage } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';

/** The error map as JSON. Offsets in it are decimal text. */
export function errorPayload(error: StreamError): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(error.body()).map(([key, value]) => [
      key,
      typeof value === 'bigint' ? String(value) : value,
    ]),
  );
}

/** The error that a client gets. A fault of the service is logged, and the client gets its correlation id. */
export function socketError(error: unknown, logger: Logger): StreamError {
  if (error instanceof StreamError) {
    if (error.cause !== undefined) logger.error({ error: errorMessage(error.cause) }, 'socket.unavailable');
    return error;
  }
  const correlationId = randomUUID();
  logger.error(
    {
      correlationId,
      error: errorMessage(error),
      stack: error instanceof Error ? error.stack : undefined,
    },
    'socket.internal-error',
  );
  return new StreamError(
    'Internal',
    'something went wrong on our side; the correlation id names the log entry',
    { correlationId },
  );
}
