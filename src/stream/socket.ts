import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type ExtendedError, Server, type Socket } from 'socket.io';
import type { Access } from '../access/access.ts';
import type { Grant } from '../access/grant.ts';
import { StreamError } from '../contract/errors.ts';
import { SOCKET_PATH, socketEvents } from '../contract/socket-events.ts';
import type { Log } from '../log.ts';
import { createRateLimit } from '../rate-limit.ts';
import { SECOND_MS } from '../time.ts';
import { type AdmissionOptions, createAdmission } from './socket-admission.ts';
import type { Admission, SocketConnection } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { type EnginePacket, joinInPacket } from './socket-packet.ts';
import { createSession, type Session } from './socket-session.ts';
import type { StartTimer } from './timer.ts';

export interface StreamSocketOptions extends Omit<AdmissionOptions, 'rateLimit' | 'access'> {
  access: Pick<Access, 'authenticate' | 'recheck'>;
  /** For each token, or address where there is none: connections and requests. */
  requestsPerMinuteMax: number;
  path?: string;
  startTimer: StartTimer;
  log: Log;
  limits?: Partial<SocketLimits>;
}

export interface SocketLimits {
  subscriptionsPerSocketMax: number;
  socketsPerTokenMax: number;
  socketsPerWorkgroupMax: number;
  /** Also those that have not said who they are yet. */
  socketsMax: number;
}

export interface StreamSocket {
  /** What is held for clients now. */
  counts(): { sockets: number; subscriptions: number };
}

const limitsByDefault: SocketLimits = {
  subscriptionsPerSocketMax: 32,
  socketsPerTokenMax: 1_000,
  socketsPerWorkgroupMax: 5_000,
  socketsMax: 8_000,
};
/** Clients send small frames only: a handshake, subscriptions, acknowledgements. */
const RECEIVED_BYTES_MAX = 32 * 1024;
const CONNECT_MS = 10 * SECOND_MS;
/** A ping waits behind the data before it, so a slow reader needs time for its answer. */
const PING_EVERY_MS = 25 * SECOND_MS;
const PONG_MS = 60 * SECOND_MS;
/** The library remembers every frame that was not acknowledged; those of subscriptions that have ended add up. */
const UNANSWERED_MAX = 512;
/** How soon a token that was revoked or has expired ends what it opened. */
const RECHECK_MS = SECOND_MS;
/** On shutdown, for clients to take their last events and leave; and then to close the connection. */
const LEAVE_MS = 2 * SECOND_MS;
const CLOSE_MS = SECOND_MS;

type Events = Record<string, (...args: unknown[]) => void>;
type StreamSocketServer = Server<Events, Events, Record<string, never>, { admission: Admission }>;
type ClientSocket = Socket<Events, Events, Record<string, never>, { admission: Admission }>;

/**
 * The stream over socket.io, on the server of `app`: authentication in the handshake, then `stream:latest` and its
 * data frames. It ends when the stream drains.
 */
export function registerStreamSocket(app: FastifyInstance, options: StreamSocketOptions): StreamSocket {
  const { stream, access, clock, startTimer, log, path = SOCKET_PATH } = options;
  const limits = { ...limitsByDefault, ...options.limits };
  const rateLimit = createRateLimit({ perMinute: options.requestsPerMinuteMax, clock });
  const admit = createAdmission({ ...options, rateLimit });
  const sessions = new Map<ClientSocket, Session>();
  const perToken = createTally(limits.socketsPerTokenMax, 'this token');
  const perWorkgroup = createTally(limits.socketsPerWorkgroupMax, 'this workgroup');

  const server: StreamSocketServer = new Server({
    path,
    addTrailingSlash: false,
    serveClient: false,
    transports: ['websocket', 'polling'],
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: RECEIVED_BYTES_MAX,
    connectTimeout: CONNECT_MS,
    pingInterval: PING_EVERY_MS,
    pingTimeout: PONG_MS,
    allowRequest: (_request, decide) => {
      const isFull = server.engine.clientsCount >= limits.socketsMax;
      decide(isFull ? 'too many connections' : null, !isFull);
    },
  });
  server.attach(app.server);
  server.engine.on('headers', (headers: Record<string, string>) => {
    headers['X-Content-Type-Options'] = 'nosniff';
  });
  // A host with several addresses has a server for each, of which the library sees only the first.
  app.all(`${path}/`, {
    config: { rateLimited: false },
    schema: { hide: true },
    onRequest: (request, reply) => {
      reply.hijack();
      server.engine.handleRequest(request.raw, reply.raw);
    },
    handler: () => undefined,
  });
  const upgraded = new Set<Duplex>();
  app.server.on('upgrade', (_request, connection) => {
    upgraded.add(connection);
    connection.once('close', () => upgraded.delete(connection));
  });

  server.use((socket, next) => {
    const { auth, query, headers, address } = socket.handshake;
    admit({ auth, query, authorization: headers.authorization, address })
      .then((admission) => {
        perToken.check(admission.grant.tokenId);
        perWorkgroup.check(admission.workgroupId);
        socket.data.admission = admission;
        next();
      })
      .catch((error: unknown) => next(connectError(socketError(error, log))));
  });

  server.on('connection', (socket) => {
    const { admission } = socket.data;
    const { grant, workgroupId } = admission;
    const session = createSession(connectionOf(socket), admission, {
      ...options,
      rateLimit,
      subscriptionsMax: limits.subscriptionsPerSocketMax,
      recheck: () => access.recheck(grant),
    });
    sessions.set(socket, session);
    perToken.add(grant.tokenId);
    perWorkgroup.add(workgroupId);
    log.debug({ workgroup: workgroupId, sockets: sessions.size }, 'socket.connected');
    socket.onAny((event: string, ...args: unknown[]) => session.receive(event, args));
    socket.on('disconnect', (reason) => {
      session.close();
      sessions.delete(socket);
      perToken.remove(grant.tokenId);
      perWorkgroup.remove(workgroupId);
      log.debug({ workgroup: workgroupId, sockets: sessions.size, reason }, 'socket.disconnected');
    });
  });

  const recheck = async (socket: ClientSocket, session: Session) => {
    const refused = refusalOf(access, socket.data.admission.grant);
    if (refused === undefined) return;
    await session.stop(refused.code === 'InvalidToken' ? 'token_expired' : 'server_draining', refused);
    socket.disconnect(true);
  };
  let stopRechecking = () => {};
  const recheckAll = () => {
    for (const [socket, session] of sessions) void recheck(socket, session);
    stopRechecking = startTimer(RECHECK_MS, recheckAll);
  };
  stopRechecking = startTimer(RECHECK_MS, recheckAll);

  const drain = async () => {
    stopRechecking();
    for (const [socket, session] of sessions)
      void session.stop('server_draining').then(() => socket.disconnect());
    await sleep(LEAVE_MS, undefined, { ref: false });
    server.engine.close();
    await sleep(CLOSE_MS, undefined, { ref: false });
    for (const connection of upgraded) connection.destroy();
  };
  stream.draining.addEventListener('abort', () => void drain());

  return {
    counts: () => ({
      sockets: sessions.size,
      subscriptions: [...sessions.values()].reduce((sum, session) => sum + session.size, 0),
    }),
  };
}

/** A socket of the library as the subscriptions on it see it. */
function connectionOf(socket: ClientSocket): SocketConnection {
  const { conn } = socket;
  const listeners = new Set<() => void>();
  const onReady = () => {
    for (const listener of [...listeners]) listener();
  };
  conn.transport.on('ready', onReady);
  conn.on('upgrade', (transport: typeof conn.transport) => {
    transport.on('ready', onReady);
    onReady();
  });
  let unanswered = 0;
  return {
    acknowledges: undefined,
    emit: (event, payload) => {
      socket.emit(event, payload);
    },
    sendFrame(head, messages, acknowledged) {
      if (acknowledged && ++unanswered > UNANSWERED_MAX) this.acknowledges = false;
      const answered = () => {
        unanswered--;
        acknowledged?.();
      };
      const join = (packet: EnginePacket) => {
        if (packet.data === messages) joinInPacket(packet, head, messages);
      };
      // The library makes two packets of an event with bytes. Held back until both are there, they leave together.
      const { transport } = conn;
      const { writable } = transport;
      transport.writable = false;
      conn.on('packetCreate', join);
      if (acknowledged) socket.emit(socketEvents.data, messages, answered);
      else socket.emit(socketEvents.data, messages);
      conn.off('packetCreate', join);
      transport.writable = writable;
      conn.request.socket.cork();
      if (writable) transport.emit('ready');
      conn.request.socket.uncork();
    },
    isClear: () => conn.transport.writable,
    onClear(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    disconnect: () => {
      socket.disconnect(true);
    },
  };
}

function connectError(error: StreamError): ExtendedError {
  return Object.assign(new Error(error.message), { data: errorPayload(error) });
}

/** Why a grant no longer holds; undefined where it does. */
function refusalOf(access: Pick<Access, 'recheck'>, grant: Grant): StreamError | undefined {
  try {
    access.recheck(grant);
    return undefined;
  } catch (error) {
    if (error instanceof StreamError) return error;
    throw error;
  }
}

/** Counts what there may be only so many of for each owner. */
function createTally(max: number, owner: string) {
  const counts = new Map<string, number>();
  const countOf = (key: string) => counts.get(key) ?? 0;
  return {
    check(key: string) {
      if (countOf(key) >= max)
        throw new StreamError('RateLimited', `${owner} has ${max} connections already; close one first`);
    },
    add: (key: string) => counts.set(key, countOf(key) + 1),
    remove(key: string) {
      if (countOf(key) > 1) counts.set(key, countOf(key) - 1);
      else counts.delete(key);
    },
  };
}
