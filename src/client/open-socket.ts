import { io } from 'socket.io-client';
import { SOCKET_PATH, socketEvents } from '../contract/socket-events.ts';

export interface SocketTarget {
  /** The URL before `/api/v1/...` and before the socket's path. */
  url: string;
  workgroup: string;
  socketPath?: string;
}

/** The events of a connection. Payloads are not checked yet. */
export interface SocketEvents {
  connected(): void;
  /** The connection was refused or could not be opened. */
  refused(message: string, data: unknown): void;
  /** The answer to the subscription. It may arrive twice. */
  answered(payload: unknown): void;
  /** `acknowledge` does nothing if the server asks for no acknowledgement. */
  data(payload: unknown, acknowledge: () => void): void;
  /** The server has ended the subscription. */
  stopped(payload: unknown): void;
  /** The server reports an error. */
  complained(payload: unknown): void;
  closed(reason: string): void;
}

/** One connection of socket.io for one subscription, so its frames cannot belong to another one. */
interface OpenedSocket {
  subscribe(payload: { requestId: string } & Record<string, string | number>): void;
  /** Ends the subscription and the connection. No event follows. */
  close(): void;
}

/** Events of errors that socket.io servers commonly use. The contract does not name them. */
const complaints = ['error', 'exception', 'stream:error', 'stream:latest:error'];

/**
 * Opens a connection. Failures are reported to `events`. Nothing is repeated, because only the reader knows
 * the position.
 */
export function openSocket(
  target: SocketTarget,
  options: { token: string | undefined; events: SocketEvents },
): OpenedSocket {
  const { token, events } = options;
  const { origin, pathname } = new URL(target.url);
  const socket = io(origin, {
    path: `${pathname.replace(/\/+$/, '')}${target.socketPath ?? SOCKET_PATH}`,
    // If WebSockets are blocked, reading over REST is better than socket.io's polling.
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
    // Some servers send the request id before the payload.
    events.data(payloads.length > 1 && payloads[0] === requestId ? payloads[1] : payloads[0], acknowledge);
  });
  for (const event of complaints) socket.on(event, events.complained);

  return {
    subscribe(payload) {
      ({ requestId } = payload);
      // Some servers send the answer alone, others an error or null before it, as Node does.
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
