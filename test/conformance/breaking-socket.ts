import type { Server as HttpServer } from 'node:http';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';

export type Payload = Record<string, unknown>;

/** A defect of a server's sockets. */
export interface SocketBreakage {
  /** Changes the authentication of a client. */
  handshake?(handshake: { auth: Payload; query: Payload; headers: Payload }): void;
  /** Changes the error of a refused client. */
  refusal?(data: Payload): unknown;
  /** Changes an event of a client. Returns its payload, or undefined to drop it. */
  fromClient?(event: string, payload: Payload): Payload | undefined;
  /** Changes the answer to a subscription, as an event or as an acknowledgement. */
  answer?(payload: Payload, as: 'event' | 'acknowledgement'): Payload;
  /** Changes an event of the server. Returns the events to send instead. */
  toClient?(event: string, payload: unknown): Array<[event: string, payload: unknown]>;
}

/** Adds a socket.io server to `server`. It forwards everything to `upstream`, with the defect. */
export function attachBreakingSocket(server: HttpServer, upstream: string, breakage: SocketBreakage) {
  const sockets = new Server(server, { path: SOCKET_PATH, serveClient: false, transports: ['websocket'] });
  sockets.use((socket, next) => {
    const { auth, query, headers } = socket.handshake;
    const handshake = {
      auth: { ...auth },
      query: Object.fromEntries(
        ['token', 'orgName'].flatMap((name) => (name in query ? [[name, query[name]]] : [])),
      ),
      headers: headers.authorization === undefined ? {} : { authorization: headers.authorization },
    };
    breakage.handshake?.(handshake);
    const client = io(upstream, {
      path: SOCKET_PATH,
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      auth: handshake.auth,
      query: handshake.query as Record<string, string>,
      extraHeaders: handshake.headers as Record<string, string>,
    });
    socket.data.client = client;
    client.once('connect', () => next());
    client.once('connect_error', (error: Error & { data?: Payload }) => {
      const data = breakage.refusal?.(error.data ?? {}) ?? error.data;
      next(Object.assign(new Error(error.message), { data }));
    });
    client.onAny((event: string, ...args: unknown[]) => {
      const acknowledge = args.at(-1);
      const isAnswer = event === 'stream:latest:rpc';
      const payload = isAnswer ? (breakage.answer?.(args[0] as Payload, 'event') ?? args[0]) : args[0];
      for (const [name, each] of breakage.toClient?.(event, payload) ?? [[event, payload] as const]) {
        if (typeof acknowledge === 'function') socket.emit(name, each, acknowledge);
        else socket.emit(name, each);
      }
    });
  });
  sockets.on('connection', (socket) => {
    const { client } = socket.data;
    socket.onAny((event: string, ...args: unknown[]) => {
      const acknowledge = args.at(-1);
      const payload = breakage.fromClient ? breakage.fromClient(event, args[0] as Payload) : args[0];
      if (payload === undefined) return;
      if (typeof acknowledge === 'function')
        client.emit(event, payload, (answer: Payload) =>
          acknowledge(breakage.answer?.(answer, 'acknowledgement') ?? answer),
        );
      else client.emit(event, payload);
    });
    socket.on('disconnect', () => client.disconnect());
  });
  return sockets;
}
