import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type ConnectionError, type FastifyInstance, type FastifyRequest } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Access } from '../access/access.ts';
import { bearerToken } from '../access/bearer-token.ts';
import { type Authentication, checkToken } from '../access/check-token.ts';
import type { Offset } from '../contract/offset.ts';
import { StreamError, type StreamErrorCode } from '../contract/stream-errors.ts';
import type { Logger } from '../lib/logger.ts';
import { STATUS_CODES } from '../lib/node-http.ts';
import { type Clock, SECOND_MS, systemClock } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { limitBytesUnderWay } from './bytes-under-way.ts';
import { discardBodies } from './discard-bodies.ts';
import { REPORT_ROUTES_PREFIX, sendError, toStreamError } from './http-errors.ts';
import { type ConnectionLimit, limitConnections } from './limit-connections.ts';
import { limitPipelining } from './limit-pipelining.ts';
import { refuseUnknownParameters } from './query-parameters.ts';
import { callerOf, createRateLimit, tooManyText } from './rate-limit.ts';
import { watchTokens } from './watch-tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before a route's own hooks run; undefined for routes without a rate limit. */
    authentication: Authentication | undefined;
  }
  interface FastifyInstance {
    connectionLimit: ConnectionLimit;
  }
  interface FastifyReply {
    /** The code of the error that was sent; undefined for other answers. */
    errorCode: StreamErrorCode | undefined;
    /** Where the messages of the request are in the stream, for the log; undefined if it has stored none. */
    stored: { firstOffset: Offset; lastOffset: Offset } | undefined;
  }
  interface FastifyContextConfig {
    /** False for routes that need no token and are polled often, for example health checks. */
    rateLimited?: boolean;
    /** Finds the token of a request. Default: the bearer token of the header Authorization. */
    tokenOf?: (request: FastifyRequest) => string | undefined;
    /** A sentence that says how a body that is too large reaches the service. */
    largerBodies?: string;
  }
}

export interface HttpServerOptions {
  logger: Logger;
  /** Checks tokens, because the rate limit counts by token. */
  access: Pick<Access, 'authenticate' | 'recheck'>;
  /** Requests of each valid token, and of each address without one. */
  requestsPerMinuteMax: number;
  /** Connections in all. Default: 10,000. */
  connectionsMax?: number;
  clock?: Clock;
  /** The largest body of a request, unless the route sets another limit. */
  bodyBytesMax?: number;
  /** When the server closes, open requests get this long to end. Then their connections are closed. */
  closeWithinMs?: number;
}

const BODY_BYTES_MAX = MEBIBYTE;
const HEADER_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 10_000;
const CONNECTIONS_CLOSE_TIMEOUT_MS = 4 * SECOND_MS;
/** An id that a caller may choose. It goes into events of the log. */
const REQUEST_ID = /^[\w.:-]+$/;
const REQUEST_ID_LENGTH_MAX = 64;
/** A caller gets this long to read the last answer before its connection is closed. */
const LEAVE_MS = SECOND_MS;
/** A client that sends its request slowly, or does not read its answer, is cut off after these times. */
const timeoutsMs = {
  headers: 10 * SECOND_MS,
  request: 60 * SECOND_MS,
  socketIdle: 90 * SECOND_MS,
  keepAlive: 75 * SECOND_MS,
  check: 5 * SECOND_MS,
} as const;

/**
 * Creates the HTTP server that all roles add their routes to. It has the limits, time-outs, rate limit,
 * errors and log events that are the same for all. Log events never contain query strings or tokens. Schemas
 * are zod.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { logger, clock = systemClock } = options;
  const app: FastifyInstance = Fastify({
    logger: false,
    genReqId: requestIdOf,
    requestIdHeader: false,
    bodyLimit: options.bodyBytesMax ?? BODY_BYTES_MAX,
    requestTimeout: timeoutsMs.request,
    connectionTimeout: timeoutsMs.socketIdle,
    keepAliveTimeout: timeoutsMs.keepAlive,
    exposeHeadRoutes: true,
    // Some clients name the whole URL, as for a proxy. A server must accept it (RFC 9112, section 3.2.2).
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?#]*/i, '') || '/',
    routerOptions: { maxParamLength: 512 },
    http: {
      headersTimeout: timeoutsMs.headers,
      connectionsCheckingInterval: timeoutsMs.check,
      maxHeaderSize: HEADER_BYTES_MAX,
      // The hook below checks it, because its error is clearer.
      requireHostHeader: false,
      // Offers of HTTP/2 are ignored (RFC 9110, section 7.8). Java's client sends one with each request.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
    frameworkErrors: (error, request, reply) => {
      sendError(request, reply, toStreamError(error, request, logger));
    },
    clientErrorHandler: answerBrokenRequest,
  });
  const connectionLimit = limitConnections(app.server, options.connectionsMax ?? CONNECTIONS_MAX);
  app.decorate('connectionLimit', connectionLimit);
  // Other expectations than 100-continue are ignored (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Node enforces time-outs only while the server listens, so a slow request could keep a closing server open
  // for ever.
  app.addHook('preClose', (done) => {
    setTimeout(
      () => app.server.closeAllConnections(),
      options.closeWithinMs ?? CONNECTIONS_CLOSE_TIMEOUT_MS,
    ).unref();
    done();
  });
  refuseUnknownParameters(app, REPORT_ROUTES_PREFIX, validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  limitPipelining(app);
  const limit = createRateLimit({ perMinute: options.requestsPerMinuteMax, clock });
  app.decorateRequest('authentication', undefined);
  app.decorateReply('errorCode', undefined);
  app.decorateReply('stored', undefined);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Content-Type-Options', 'nosniff');
    reply.header('X-Request-Id', request.id);
    const problem = hostProblem(request.raw);
    if (problem !== undefined) throw new StreamError('InvalidRequest', problem);
    const { rateLimited, tokenOf = bearerOf } = request.routeOptions.config;
    if (rateLimited === false) return;
    request.authentication = await checkToken(options.access, tokenOf(request));
    if (request.authentication.kind === 'granted') connectionLimit.keep(request.raw.socket);
    const caller = callerOf(request.authentication, request.ip);
    const waitSeconds = limit.take(caller);
    if (waitSeconds > 0)
      throw new StreamError('RateLimited', tooManyText('requests', caller), {}, waitSeconds);
    // The check is in this hook, because the body is then not read.
    if (request.is404) throw nothingHere();
  });
  watchTokens(app, options.access);
  limitBytesUnderWay(app);
  discardBodies(app);
  app.addHook('onResponse', (request, reply, done) => {
    logger.debug(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        error: reply.errorCode,
        ...(reply.stored && {
          firstOffset: String(reply.stored.firstOffset),
          lastOffset: String(reply.stored.lastOffset),
        }),
        durationMs: Math.round(reply.elapsedTime),
      },
      'http.request',
    );
    done();
  });
  app.setErrorHandler((error, request, reply) =>
    sendError(request, reply, toStreamError(error, request, logger)),
  );
  app.setNotFoundHandler((request, reply) => sendError(request, reply, nothingHere()));
  return app;
}

function nothingHere(): StreamError {
  return new StreamError('NotFound', 'there is nothing at this address; /docs shows what there is');
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return bearerToken(headers.authorization);
}

/**
 * The id of a request: the id of the caller if it is short and plain text, otherwise a new one. The answer
 * and the events of the log have it.
 */
function requestIdOf({ headers }: IncomingMessage): string {
  const sentId = headers['x-request-id'];
  const isPlain =
    typeof sentId === 'string' && sentId.length <= REQUEST_ID_LENGTH_MAX && REQUEST_ID.test(sentId);
  return isPlain ? sentId : randomUUID();
}

/** The result of checking the token of a request. */
export function authenticationOf({ authentication }: FastifyRequest): Authentication {
  if (authentication === undefined) throw new Error('a route that needs a token must have a rate limit');
  return authentication;
}

/**
 * The problem of the Host headers of a request; undefined if there is none. RFC 9112, section 3.2: a request
 * without Host, or with several, may reach another server than intended.
 */
export function hostProblem({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  // Node's parsed headers keep only the first. In the raw headers each name is followed by its value.
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return 'Host: one only; this request has several';
  return hosts === 0 && httpVersion === '1.1' ? 'Host: HTTP/1.1 needs this header' : undefined;
}

/**
 * Answers other methods of an existing address with 405 instead of 404. It must be called after the address's
 * own routes.
 * @param methods the methods of the address; GET includes HEAD
 */
export function rejectOtherMethods(app: FastifyInstance, url: string, methods: readonly string[]): void {
  const allowed = methods.includes('GET') ? [...new Set([...methods, 'HEAD'])] : methods;
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    schema: { hide: true },
    // In `onRequest`, because the body is then not read.
    onRequest: (_request, reply, done) => {
      reply.header('Allow', allowed.join(', '));
      done(new StreamError('MethodNotAllowed', `this address takes ${allowed.join(', ')}`));
    },
    handler: () => undefined,
  });
}

/** Answers a connection if its data is not an HTTP request or came too slowly. */
function answerBrokenRequest(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = brokenRequests[error.code ?? ''] ?? [
    400,
    'this is not an HTTP request, or the Content-Length of the request before was less than its body',
  ];
  endWithError(socket, status, 'InvalidRequest', message);
}

const brokenRequests: Readonly<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
};

/** Sends an error on a connection without a reply, and ends it. */
export function endWithError(socket: Duplex, status: number, error: StreamErrorCode, message: string): void {
  // A request that was late can be in time when it is sent again. Otherwise the same request would be refused
  // again.
  const body = JSON.stringify({ error, message, status, retryable: status === 408 });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  // The connection is destroyed if the caller does not close it.
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once('close', () => clearTimeout(timer));
}
