import type { IncomingMessage } from 'node:http';
import { addressGroup } from '../../http/address-group.ts';
import type { StartTimer } from '../../lib/timer.ts';

/** A connection of engine.io. */
export interface LobbyConnection {
  once(event: 'close', listener: () => void): unknown;
  /** @param discard true to close without waiting for buffered data */
  close(discard: boolean): unknown;
}

interface LobbyOptions {
  /** The maximum number of connections, including those that were let in. */
  connectionsMax: number;
  /** Connections of one address that may wait. A /64 network of IPv6 counts as one address. */
  waitingPerAddressMax: number;
  waitingMsMax: number;
  /** The number of connections that were let in and are still open. */
  countInside(): number;
  startTimer: StartTimer;
}

/**
 * Holds connections that have not authenticated yet: a few for each address, for a short time. If there is no
 * room, the connection that waits longest is closed, so that waiting connections cannot keep others out.
 */
export interface Lobby {
  /**
   * Takes a place for a request that opens a connection.
   * @returns the reason if there is no place
   */
  enter(request: IncomingMessage): string | undefined;
  /** Called when the request has opened its connection. */
  noteOpened(request: IncomingMessage, connection: LobbyConnection): void;
  /** Called when the connection has authenticated. It waits no longer. */
  letIn(request: IncomingMessage): void;
  /** True until the connection has authenticated. */
  isWaiting(request: IncomingMessage): boolean;
  readonly size: number;
}

interface Place {
  group: string;
  connection: LobbyConnection | undefined;
  stopTimer: () => void;
}

export function createLobby(options: LobbyOptions): Lobby {
  const { connectionsMax, waitingPerAddressMax, waitingMsMax, countInside, startTimer } = options;
  /** In the order of arrival. */
  const places = new Map<IncomingMessage, Place>();
  const perGroup = new Map<string, number>();

  const leave = (request: IncomingMessage): Place | undefined => {
    const place = places.get(request);
    if (place === undefined) return undefined;
    places.delete(request);
    place.stopTimer();
    const left = perGroup.get(place.group)! - 1;
    if (left > 0) perGroup.set(place.group, left);
    else perGroup.delete(place.group);
    return place;
  };
  const turnOut = (request: IncomingMessage) => leave(request)?.connection?.close(true);

  return {
    enter(request) {
      const group = addressGroup(request.socket.remoteAddress ?? '');
      const waiting = perGroup.get(group) ?? 0;
      if (waiting >= waitingPerAddressMax)
        return 'too many connections of this address have not authenticated';
      if (places.size + countInside() >= connectionsMax) {
        const [oldest] = places.keys();
        if (oldest === undefined) return 'too many connections';
        turnOut(oldest);
      }
      perGroup.set(group, waiting + 1);
      const stopTimer = startTimer(waitingMsMax, () => turnOut(request));
      places.set(request, { group, connection: undefined, stopTimer });
      return undefined;
    },
    noteOpened(request, connection) {
      const place = places.get(request);
      // The place was given up, because the time was over before the connection was open.
      if (place === undefined) return void connection.close(true);
      place.connection = connection;
      connection.once('close', () => leave(request));
    },
    letIn: (request) => void leave(request),
    isWaiting: (request) => places.has(request),
    get size() {
      return places.size;
    },
  };
}
