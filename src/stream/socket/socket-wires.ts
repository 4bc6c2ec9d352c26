import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The TCP connections of WebSockets, by the ids of their connections of engine.io. */
export interface SocketWires {
  /** Notes a request of an open connection of engine.io, which can make a WebSocket of it. */
  note(id: string, request: IncomingMessage): void;
  /** The connection of engine.io is closed. */
  forget(id: string): void;
  /**
   * @param opening the request that opened the connection of engine.io
   * @returns the TCP connection of its WebSocket; undefined for a client that polls
   */
  find(id: string, opening: IncomingMessage): Socket | undefined;
}

export function createSocketWires(): SocketWires {
  /** The connections of clients that polled before they opened a WebSocket. */
  const upgraded = new Map<string, Socket>();
  return {
    note(id, request) {
      if (isWebSocket(request)) upgraded.set(id, request.socket);
    },
    forget(id) {
      upgraded.delete(id);
    },
    find: (id, opening) => (isWebSocket(opening) ? opening.socket : upgraded.get(id)),
  };
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
