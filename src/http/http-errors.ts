import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { encodeCbor } from '../cbor/cbor-codec.ts';
import { INGEST_TYPE_ADVICE } from '../contract/ingest-types.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { bigintAsText } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { prefersJson } from './accept-header.ts';

/**
 * Routes of the stream answer in CBOR, also errors, unless the caller prefers JSON. All other routes answer
 * in JSON.
 */
const STREAM_ROUTES_PREFIX = '/api/v1/tables/';

const RETRY_AFTER_SECONDS = 1;

/**
 * Faults of the storage that an operator has to repair. The request was right, so the answer is 503 with the
 * words of the error.
 */
const STORAGE_CODES: ReadonlySet<string> = new Set([
  'DamagedLog',
  'ForeignLake',
  'LakeBehindWarehouse',
  'LakeMissing',
  'WarehouseBehindLake',
  'WarehouseGone',
  'WarehouseMissing',
]);
const STORAGE_SECONDS = 30;

/**
 * Routes of reports and uploads refuse unknown parameters. Routes of the stream ignore them, as the contract
 * says.
 */
export const REPORT_ROUTES_PREFIX = '/api/v1/orgs/';

/**
 * Sends an error in the format of its route, with the headers of the error.
 * @param jsonOf the body in JSON, for routes with errors of another form
 */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: StreamError,
  jsonOf: (error: StreamError) => object = (one) => one.body(),
): FastifyReply {
  reply.code(error.status).header('Cache-Control', 'no-store');
  reply.errorCode = error.code;
  const retryAfterSeconds =
    error.retryAfterSeconds ??
    (error.status === 429 || error.status === 503 ? RETRY_AFTER_SECONDS : undefined);
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
  // If the connection closed while the body still arrives, the caller would not get the answer.
  if (error.code === 'PayloadTooLarge') reply.removeHeader('connection');
  const challenge = challengeOf(error);
  if (challenge !== undefined) reply.header('WWW-Authenticate', challenge);
  if (request.url.startsWith(STREAM_ROUTES_PREFIX) && !prefersJson(request.headers.accept)) {
    const body = encodeCbor(error.body());
    return reply.type('application/cbor').send(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  }
  // The serializer of the route is replaced, because its schema describes successes only.
  return reply
    .type('application/json; charset=utf-8')
    .serializer((body) => String(body))
    .send(JSON.stringify(jsonOf(error), bigintAsText));
}

/** RFC 6750, section 3: the header has no error code if no token was sent. */
function challengeOf(error: StreamError): string | undefined {
  switch (error.code) {
    case 'AuthenticationRequired':
      return 'Bearer';
    case 'InvalidToken':
      return 'Bearer error="invalid_token"';
    case 'InsufficientScope':
      return `Bearer error="insufficient_scope", scope="${error.details.required?.join(' ') ?? ''}"`;
    default:
      return undefined;
  }
}

/**
 * The error that a caller gets for any thrown error. A fault of the service is logged, and the caller gets an
 * Internal error with the id of the request and no details.
 */
export function toStreamError(error: unknown, request: FastifyRequest, logger: Logger): StreamError {
  // The caller has disconnected during the body, so nobody reads the answer.
  if (request.raw.destroyed && !request.raw.complete)
    return new StreamError('InvalidRequest', 'the request ended before its body was complete');
  const known = knownError(error, request);
  if (known !== undefined) {
    if (known.status === 503 && known.cause !== undefined)
      logger.error({ requestId: request.id, error: errorMessage(known.cause) }, 'http.unavailable');
    return known;
  }
  logger.error(
    {
      requestId: request.id,
      route: request.routeOptions.url,
      error: errorMessage(error),
      stack: error instanceof Error ? error.stack : undefined,
    },
    'http.internal-error',
  );
  return new StreamError(
    'Internal',
    'something went wrong on our side; the correlation id names the log entry',
    {
      correlationId: request.id,
    },
  );
}

function knownError(error: unknown, request: FastifyRequest): StreamError | undefined {
  if (error instanceof StreamError) return error;
  if (error instanceof TerminalError && STORAGE_CODES.has(error.code))
    return unavailable(error.message, STORAGE_SECONDS, error);
  if (hasZodFastifySchemaValidationErrors(error)) {
    const [first] = error.validation;
    const parameter = first?.instancePath.split('/').filter(Boolean).join('.') ?? '';
    return new StreamError(
      'InvalidRequest',
      `${parameter || 'the request'}: ${first?.message ?? 'is not valid'}`,
      {
        ...(parameter && { parameter }),
      },
    );
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_') || typeof statusCode !== 'number')
    return undefined;
  if (statusCode === 413) return new StreamError('PayloadTooLarge', tooLarge(request));
  if (statusCode === 415)
    return new StreamError(
      'UnsupportedMediaType',
      request.url.startsWith(STREAM_ROUTES_PREFIX)
        ? `this Content-Type is not read here; ${INGEST_TYPE_ADVICE}`
        : 'this Content-Type is not read here; /docs shows what this address accepts',
    );
  if (statusCode === 404)
    return new StreamError('NotFound', 'there is nothing at this address; /docs shows what there is');
  if (statusCode === 503) return new StreamError('Draining', 'the service is shutting down');
  return statusCode < 500 ? new StreamError('InvalidRequest', 'the request cannot be read') : undefined;
}

function tooLarge({ routeOptions }: FastifyRequest): string {
  const { bodyLimit, config } = routeOptions;
  const limit = `the body is too large; at most ${formatCount(bodyLimit!)} bytes can be sent at once`;
  return config.largerBodies ? `${limit}. ${config.largerBodies}` : limit;
}
