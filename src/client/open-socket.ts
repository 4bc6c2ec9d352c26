import { io } from 'socket.io-client';
import { SOCKET_PATH, socketEvents } from '../contract/socket-events.ts';

export interface SocketTarget {
  /** Where `/api/v1/...` begins; the socket's path begins there too. */
  url: string;
  workgroup: string;
  socketPath?: string;
}

/** What happens on a connection, payloads as they came: a stranger's. */
export interface SocketEvents {
  connected(): void;
  /** It was not let in, or nothing could be reached. */
  refused(message: string, data: unknown): void;
  /** The answer to the subscription, which may come twice. */
  answered(payload: unknown): void;
  /** `acknowledge` does nothing where the server asks for no acknowledgement. */
  data(payload: unknown, acknowledge: () => void): void;
  /** The server has ended the subscription. */
  stopped(payload: unknown): void;
  /** The server complains. */
  complained(payload: unknown): void;
  closed(reason: string): void;
}

/** One connection of socket.io, for one subscription: what comes on it can belong to no other. */
export interface OpenedSocket {
  subscribe(payload: { requestId: string } & Record<string, string | number>): void;
  /** Ends the subscription and the connection. Nothing is heard of either after that. */
  close(): void;
}

/** No name of the contract; servers of socket.io commonly use these for what goes wrong. */
const complaints = ['error', 'exception', 'stream:error', 'stream:latest:error'];

/** Begins to connect. What fails is told to `events`; nothing is tried again, because only the reader knows from where. */
export function openSocket(
  target: SocketTarget,
  options: { token: string | undefined; events: SocketEvents },
): OpenedSocket {
  const { token, events } = options;
  const { origin, pathname } = new URL(target.url);
  const socket = io(origin, {
    path: `${pathname.replace(/\/+$/, '')}${target.socketPath ?? SOCKET_PATH}`,
    // Where a WebSocket is not let through, REST is better than its imitation.
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    auth: { ...(token !== undefined && { token }), workgroupId: target.workgroup },
    query: { orgName: target.workgroup },
    extraHeaders: {
      'user-agent': 'wattline',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  let requestId: string | undefined;

  socket.on('connect', events.connected);
  socket.on('connect_error', (error: Error & { data?: unknown; description?: { message?: string } }) => {
    const because = error.description?.message;
    events.refused(because ? `${error.message} (${because})` : error.message, error.data);
  });
  socket.on('disconnect', (reason) => events.closed(reason));
  socket.on(socketEvents.answer, events.answered);
  socket.on(socketEvents.stop, events.stopped);
  socket.on(socketEvents.data, (...args: unknown[]) => {
    const callback = args.at(-1);
    const acknowledge = typeof callback === 'function' ? () => void callback() : () => undefined;
    const payloads = args.filter((argument) => typeof argument !== 'function');
    // Some name the request before the payload.
    events.data(payloads.length > 1 && payloads[0] === requestId ? payloads[1] : payloads[0], acknowledge);
  });
  for (const event of complaints) socket.on(event, events.complained);

  return {
    subscribe(payload) {
      ({ requestId } = payload);
      // As an answer, or in the manner of Node: an error that may be null, then the answer.
      socket.emit(socketEvents.subscribe, payload, (...args: unknown[]) => {
        events.answered(args.find((argument) => argument !== null && argument !== undefined));
      });
    },
    close() {
      socket.off();
      if (requestId !== undefined && socket.connected) socket.emit(socketEvents.stop, { requestId });
      socket.disconnect();
    },
  };
}
