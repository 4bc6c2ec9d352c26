import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type ExtendedError, Server, type Socket } from 'socket.io';
import type { Access } from '../../access/access.ts';
import { devicesNow } from '../../access/admit.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { SOCKET_PATH } from '../../contract/socket-events.ts';
import type { StreamError } from '../../contract/stream-errors.ts';
import { endWithError, hostProblem } from '../../http/http-server.ts';
import { createQuota } from '../../http/per-owner-quota.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import type { Logger } from '../../lib/logger.ts';
import { repeat } from '../../lib/repeat.ts';
import { SECOND_MS } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { limitPackets, type PacketConnection } from './limit-packets.ts';
import { createSocketAdmission, type SocketAdmissionOptions } from './socket-admission.ts';
import type { ConnectionContext } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { connectionOf } from './socket-io-connection.ts';
import { createLobby, type Lobby, type LobbyConnection } from './socket-lobby.ts';
import { createSession, type Session } from './socket-session.ts';
import { createSocketWires, type SocketWires } from './socket-wires.ts';

export interface StreamSocketOptions extends Omit<SocketAdmissionOptions, 'rateLimit' | 'access'> {
  access: Pick<Access, 'authenticate' | 'recheck'>;
  /** Connections and requests of each valid token, and of each address without one. */
  requestsPerMinuteMax: number;
  path?: string;
  startTimer: StartTimer;
  logger: Logger;
  limits?: Partial<SocketLimits>;
}

interface SocketLimits {
  subscriptionsPerSocketMax: number;
  connectionsPerTokenMax: number;
  connectionsPerWorkgroupMax: number;
  /** Includes connections that have not authenticated yet. */
  socketsMax: number;
  /**
   * Connections of one address that have not authenticated yet. A /64 network of IPv6 counts as one address.
   */
  socketsWaitingPerAddressMax: number;
  /** A connection that is not authenticated after this is closed. */
  authenticationMs: number;
}

export interface StreamSocket {
  /** Current counts. `waiting` are connections that have not authenticated yet. */
  counts(): { sockets: number; waiting: number; subscriptions: number };
  /** The number of subscriptions by workgroup. Workgroups without connections are left out. */
  subscriptions(): ReadonlyMap<string, number>;
}

const limitsByDefault: SocketLimits = {
  subscriptionsPerSocketMax: 32,
  connectionsPerTokenMax: serviceLimits.connectionsPerToken,
  connectionsPerWorkgroupMax: serviceLimits.connectionsPerWorkgroup,
  socketsMax: serviceLimits.connectionsPerProcess,
  socketsWaitingPerAddressMax: serviceLimits.connectionsPerAddress,
  authenticationMs: serviceLimits.authenticationMs,
};
/** Clients send only small frames: a handshake, subscriptions, acknowledgements. */
const RECEIVED_BYTES_MAX = 32 * 1024;
/**
 * The library also closes connections that are not authenticated. Its limit is this much longer than ours, so
 * that ours is reached first.
 */
const CONNECT_MORE_MS = 5 * SECOND_MS;
/**
 * A slow reader needs much time to answer a ping, because it must first read all data that was sent before
 * the ping.
 */
const PING_EVERY_MS = 25 * SECOND_MS;
const PONG_MS = 60 * SECOND_MS;
/**
 * A connection ends within this time after its token has expired or was revoked. Changed device groups apply
 * after at most this time.
 */
const REVOKED_MS = SECOND_MS;
const RECHECK_MS = REVOKED_MS / 2;
/** A client gets this time to read why its token was refused. */
const LAST_READ_MS = REVOKED_MS / 2;
/** On shutdown, clients get this time to receive their last events, and then to close. */
const LEAVE_MS = 2 * SECOND_MS;
const CLOSE_PAUSE_MS = SECOND_MS;

/** engine.io adds the parsed query. */
type EngineRequest = IncomingMessage & { _query: Record<string, unknown> };
type Events = Record<string, (...args: unknown[]) => void>;
type StreamSocketServer = Server<Events, Events, Record<string, never>, { context: ConnectionContext }>;
type ClientSocket = Socket<Events, Events, Record<string, never>, { context: ConnectionContext }>;

/**
 * Serves the stream over socket.io on the server of `app`: authentication in the handshake, then
 * `stream:latest` and data frames. It ends when the stream drains.
 */
export function registerStreamSocket(app: FastifyInstance, options: StreamSocketOptions): StreamSocket {
  const { stream, access, clock, startTimer, logger, path = SOCKET_PATH } = options;
  const limits = { ...limitsByDefault, ...options.limits };
  const rateLimit = createRateLimit({ perMinute: options.requestsPerMinuteMax, clock });
  const admit = createSocketAdmission({ ...options, rateLimit });
  const sessions = new Map<ClientSocket, Session>();
  const perOwner = (max: number, owner: string) =>
    createQuota(max, `${owner} has ${max} connections already; close one first`);
  const perToken = perOwner(limits.connectionsPerTokenMax, 'this token');
  const perWorkgroup = perOwner(limits.connectionsPerWorkgroupMax, 'this workgroup');

  const lobby = createLobby({
    connectionsMax: limits.socketsMax,
    waitingPerAddressMax: limits.socketsWaitingPerAddressMax,
    waitingMsMax: limits.authenticationMs,
    countInside: () => sessions.size,
    startTimer,
  });
  /** Ids of connections of engine.io. */
  const authenticatedIds = new Set<unknown>();
  const wires = createSocketWires();
  const server = openServer(app, path, {
    lobby,
    wires,
    authenticatedIds,
    connectMsMax: limits.authenticationMs + CONNECT_MORE_MS,
    draining: stream.draining,
  });
  const upgraded = trackUpgrades(app, path);

  server.use((socket, next) => {
    const { auth, query, headers, address } = socket.handshake;
    admit({ auth, query, authorization: headers.authorization, address })
      .then((context) => {
        // The quota counts a connection before it is open. So connections that are opened at the same time
        // count too.
        const places = [perToken.take(context.grant.tokenId)];
        socket.conn.once('close', () => {
          for (const giveBack of places) giveBack();
        });
        places.push(perWorkgroup.take(context.workgroupId));
        socket.data.context = context;
        next();
      })
      .catch((error: unknown) => next(connectError(socketError(error, logger))));
  });

  server.on('connection', (socket) => {
    const { context } = socket.data;
    const { grant, workgroupId } = context;
    const session = createSession(connectionOf(socket), context, {
      ...options,
      rateLimit,
      subscriptionsMax: limits.subscriptionsPerSocketMax,
      recheck: () => access.recheck(grant),
    });
    sessions.set(socket, session);
    lobby.letIn(socket.conn.request);
    app.connectionLimit.keep(socket.conn.request.socket);
    const id = idOf(socket);
    authenticatedIds.add(id);
    socket.conn.once('close', () => authenticatedIds.delete(id));
    logger.debug({ workgroup: workgroupId, sockets: sessions.size }, 'socket.connected');
    socket.onAny((event: string, ...args: unknown[]) => session.receive(event, args));
    socket.on('disconnect', (reason) => {
      session.close();
      sessions.delete(socket);
      // The client has left the namespace, so its connection is closed. It would no longer count for any
      // limit.
      if (reason === 'client namespace disconnect') socket.conn.close();
      logger.debug({ workgroup: workgroupId, sockets: sessions.size, reason }, 'socket.disconnected');
    });
  });

  const recheck = async (socket: ClientSocket, session: Session) => {
    const { context } = socket.data;
    try {
      access.recheck(context.grant);
      context.devices = devicesNow(options, context.grant, context.workgroupId, ['search:read']);
    } catch (cause) {
      const error = socketError(cause, logger);
      const isRefused = error.code === 'InvalidToken';
      const wire = wires.find(idOf(socket), socket.conn.request);
      // A reset drops the bytes that the operating system has not delivered yet, which can be megabytes. A
      // client that polls needs no reset, because it gets at most one more frame.
      if (isRefused) startTimer(LAST_READ_MS, () => wire?.resetAndDestroy());
      await session.stop(isRefused ? 'token_expired' : 'server_draining', error);
      if (error.body().retryable) socket.conn.close();
      else socket.disconnect(true);
    }
  };
  const rechecks = repeat(RECHECK_MS, startTimer, async () => {
    for (const [socket, session] of sessions) void recheck(socket, session);
  });

  const drain = async () => {
    void rechecks.stop();
    // A client's library connects again by itself if its connection closes, but not if its namespace does.
    for (const [socket, session] of sessions)
      void session.stop('server_draining').then(() => socket.conn.close());
    await sleep(LEAVE_MS, undefined, { ref: false });
    server.engine.close();
    await sleep(CLOSE_PAUSE_MS, undefined, { ref: false });
    for (const connection of upgraded) connection.destroy();
  };
  stream.draining.addEventListener('abort', () => void drain());

  return {
    counts: () => ({
      sockets: sessions.size,
      waiting: lobby.size,
      subscriptions: [...sessions.values()].reduce((sum, session) => sum + session.size, 0),
    }),
    subscriptions() {
      const counts = new Map<string, number>();
      for (const [{ data }, { size }] of sessions) {
        const { workgroupId } = data.context;
        counts.set(workgroupId, (counts.get(workgroupId) ?? 0) + size);
      }
      return counts;
    },
  };
}

/** The connections of a server that were upgraded to WebSockets at a path. Others are refused. */
function trackUpgrades({ server }: FastifyInstance, path: string): ReadonlySet<Duplex> {
  const upgraded = new Set<Duplex>();
  server.on('upgrade', ({ url }, connection) => {
    // Until socket.io has accepted the connection, its errors have no other handler. An error without a
    // handler would end the process.
    connection.on('error', () => undefined);
    // The answer is sent at once, because socket.io closes unknown upgrades a second later.
    if (!url?.startsWith(path))
      return endWithError(connection, 404, 'NotFound', `the stream's WebSocket is at ${path}/`);
    upgraded.add(connection);
    connection.once('close', () => upgraded.delete(connection));
  });
  return upgraded;
}

/** Runs socket.io at a path of `app`, next to its routes. */
function openServer(
  app: FastifyInstance,
  path: string,
  {
    lobby,
    wires,
    authenticatedIds,
    connectMsMax,
    draining,
  }: {
    lobby: Lobby;
    wires: SocketWires;
    authenticatedIds: ReadonlySet<unknown>;
    connectMsMax: number;
    draining: AbortSignal;
  },
): StreamSocketServer {
  const server: StreamSocketServer = new Server({
    path,
    addTrailingSlash: false,
    serveClient: false,
    transports: ['websocket', 'polling'],
    // With compression, engine.io would not send frames that are encoded once for all sockets.
    perMessageDeflate: false,
    httpCompression: false,
    maxHttpBufferSize: RECEIVED_BYTES_MAX,
    connectTimeout: connectMsMax,
    pingInterval: PING_EVERY_MS,
    pingTimeout: PONG_MS,
    allowRequest: (request, decide) => {
      // Without a handshake a client tries again by itself. After a refused token it does not.
      const refusal = draining.aborted ? 'the service is shutting down' : lobby.enter(request);
      decide(refusal, refusal === undefined);
    },
  });
  server.attach(app.server);
  const { clients } = server.engine as unknown as { clients: Readonly<Record<string, unknown>> };
  // Fastify does not see these requests.
  server.engine.use((request: EngineRequest, _response: unknown, next: (error?: Error) => void) => {
    const problem = hostProblem(request);
    const { sid } = request._query;
    if (typeof sid === 'string' && Object.hasOwn(clients, sid)) wires.note(sid, request);
    // Each poll may use another connection.
    if (authenticatedIds.has(sid)) app.connectionLimit.keep(request.socket);
    next(problem === undefined ? undefined : new Error(problem));
  });
  server.engine.on(
    'connection',
    (connection: LobbyConnection & PacketConnection & { id: string; request: IncomingMessage }) => {
      lobby.noteOpened(connection.request, connection);
      connection.once('close', () => wires.forget(connection.id));
      limitPackets(connection, () => lobby.isWaiting(connection.request));
    },
  );
  server.engine.on('headers', (headers: Record<string, string>) => {
    headers['X-Content-Type-Options'] = 'nosniff';
  });
  // A host with several addresses has one server for each. socket.io sees only the first.
  app.all(`${path}/`, {
    config: { rateLimited: false },
    schema: { hide: true },
    onRequest: (request, reply) => {
      reply.hijack();
      server.engine.handleRequest(request.raw, reply.raw);
    },
    handler: () => undefined,
  });
  return server;
}

/** The id of a connection of engine.io, whose types hide it. */
function idOf({ conn }: ClientSocket): string {
  return (conn as unknown as { id: string }).id;
}

function connectError(error: StreamError): ExtendedError {
  return Object.assign(new Error(error.message), { data: errorPayload(error) });
}
