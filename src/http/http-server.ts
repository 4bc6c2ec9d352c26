import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type ConnectionError, type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Access } from '../access/access.ts';
import { bearerToken } from '../access/bearer.ts';
import { StreamError, type StreamErrorCode } from '../contract/stream-errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, SECOND_MS, systemClock } from '../lib/time.ts';
import { REPORT_ROUTES_PREFIX, sendError, toStreamError } from './http-errors.ts';
import { refuseUnknownParameters } from './query-parameters.ts';
import { callerOf, createRateLimit, tooMany } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set to false where no token is needed and callers poll often, such as health checks. */
    rateLimited?: boolean;
  }
}

export interface HttpServerOptions {
  logger: Logger;
  /** Tells whose share of requests is used. */
  access: Pick<Access, 'authenticate'>;
  /** For each token that is valid, and for each address that sends requests without one. */
  requestsPerMinuteMax: number;
  /** Connections in all. Default: 10,000. */
  connectionsMax?: number;
  clock?: Clock;
  /** Bytes of a request's body, where a route does not say otherwise. */
  bodyBytesMax?: number;
  /** How long requests that are under way have to end once the server closes; then their connections are cut. */
  closeWithinMs?: number;
}

const BODY_BYTES_MAX = 1024 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 10_000;
const CLOSE_MS = 4 * SECOND_MS;
/** How long a caller may take to read why its connection ends. */
const LEAVE_MS = SECOND_MS;
/** A client that sends its request byte by byte, or reads nothing of its answer, is cut off after this. */
const timeoutsMs = {
  headers: 10 * SECOND_MS,
  request: 60 * SECOND_MS,
  socketIdle: 90 * SECOND_MS,
  keepAlive: 75 * SECOND_MS,
  check: 5 * SECOND_MS,
} as const;

/**
 * The HTTP server that all roles put their routes on, with what is the same for each of them: limits, time-outs,
 * rate limiting, errors in the contract's form, log events without query strings or tokens. Schemas are zod.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { logger, clock = systemClock } = options;
  const app: FastifyInstance = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: options.bodyBytesMax ?? BODY_BYTES_MAX,
    requestTimeout: timeoutsMs.request,
    connectionTimeout: timeoutsMs.socketIdle,
    keepAliveTimeout: timeoutsMs.keepAlive,
    exposeHeadRoutes: true,
    // Clients that take us for a proxy name the whole address, which a server must accept (RFC 9112 section 3.2.2).
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?#]*/i, '') || '/',
    routerOptions: { maxParamLength: 512 },
    http: {
      headersTimeout: timeoutsMs.headers,
      connectionsCheckingInterval: timeoutsMs.check,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Looked for below, so that what is missing is said.
      requireHostHeader: false,
      // Whoever would rather speak HTTP/2 is answered as he asked (RFC 9110 section 7.8); Java's client offers it every time.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
    frameworkErrors: (error, request, reply) => {
      sendError(request, reply, toStreamError(error, request, logger));
    },
    clientErrorHandler: answerBrokenRequest,
  });
  app.server.maxConnections = options.connectionsMax ?? CONNECTIONS_MAX;
  // Nothing is expected of us but to go on (RFC 9110 section 10.1.1 lets a server pass over anything else).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Node looks after the time-outs of requests only while it listens: a slow one would hold a closing server up for ever.
  app.addHook('preClose', (done) => {
    setTimeout(() => app.server.closeAllConnections(), options.closeWithinMs ?? CLOSE_MS).unref();
    done();
  });
  refuseUnknownParameters(app, REPORT_ROUTES_PREFIX, validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);

  const limit = createRateLimit({ perMinute: options.requestsPerMinuteMax, clock });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Content-Type-Options', 'nosniff');
    reply.header('X-Request-Id', request.id);
    const problem = hostProblem(request.raw);
    if (problem !== undefined) throw new StreamError('InvalidRequest', problem);
    if (request.routeOptions.config.rateLimited === false) return;
    const caller = await callerOf(options.access, bearerToken(request.headers.authorization), request.ip);
    const waitSeconds = limit.take(caller);
    if (waitSeconds > 0) throw new StreamError('RateLimited', tooMany('requests', caller), {}, waitSeconds);
  });
  app.addHook('onResponse', (request, reply, done) => {
    logger.debug(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      },
      'http.request',
    );
    done();
  });
  app.setErrorHandler((error, request, reply) =>
    sendError(request, reply, toStreamError(error, request, logger)),
  );
  app.setNotFoundHandler((request, reply) =>
    sendError(
      request,
      reply,
      new StreamError('NotFound', 'there is nothing at this address; /docs shows what there is'),
    ),
  );
  return app;
}

/** RFC 9112 section 3.2: who sends none, or several, may mean one server and reach another. */
function hostProblem({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  // Node keeps the first and says nothing of others. Names and values take turns.
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return 'Host: one only; this request has several';
  return hosts === 0 && httpVersion === '1.1' ? 'Host: HTTP/1.1 needs this header' : undefined;
}

/**
 * Answers other methods at an address that exists with 405, not with 404. Call it after the address's own routes.
 * @param methods what the address takes; with GET comes HEAD
 */
export function rejectOtherMethods(app: FastifyInstance, url: string, methods: readonly string[]): void {
  const allowed = methods.includes('GET') ? [...new Set([...methods, 'HEAD'])] : methods;
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    schema: { hide: true },
    // Before the body is read, whatever its type.
    onRequest: (_request, reply, done) => {
      reply.header('Allow', allowed.join(', '));
      done(new StreamError('MethodNotAllowed', `this address takes ${allowed.join(', ')}`));
    },
    handler: () => undefined,
  });
}

/** What arrives is not HTTP, or came too slowly: there is no request to answer, only a connection to end. */
function answerBrokenRequest(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = brokenRequests[error.code ?? ''] ?? [400, 'this is not an HTTP request'];
  endWithError(socket, status, 'InvalidRequest', message);
}

const brokenRequests: Readonly<Record<string, [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
};

/** Answers on a connection that no request's reply can be sent on, and ends it. */
export function endWithError(socket: Duplex, status: number, error: StreamErrorCode, message: string): void {
  const body = JSON.stringify({ error, message, status, retryable: false });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Whoever has read it leaves; nobody else is waited for.
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once('close', () => clearTimeout(timer));
}
