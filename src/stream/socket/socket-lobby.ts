import type { IncomingMessage } from 'node:http';
import { addressGroup } from '../../http/address-group.ts';
import type { StartTimer } from '../../lib/timer.ts';

/** A connection of the library, as far as it is used here. */
export interface LobbyConnection {
  once(event: 'close', listener: () => void): unknown;
  /** @param discard at once, without a word */
  close(discard: boolean): unknown;
}

export interface LobbyOptions {
  /** Connections in all, those that were let in among them. */
  connectionsMax: number;
  /** Connections of one address that wait; of IPv6 one /64 network counts as one address. */
  waitingPerAddressMax: number;
  waitingMsMax: number;
  /** How many connections were let in and are still there. */
  countInside(): number;
  startTimer: StartTimer;
}

/**
 * Where connections wait that have not said who they are: few of each address, and for a short time. Where there is no room at
 * all, the one that has waited longest makes room for the next, so that nobody can keep others out by waiting.
 */
export interface Lobby {
  /**
   * Takes a place for a request that opens a connection: it counts from now on.
   * @returns why there is none; undefined where it has one
   */
  enter(request: IncomingMessage): string | undefined;
  /** The connection that this request has opened. */
  opened(request: IncomingMessage, connection: LobbyConnection): void;
  /** It has said who it is: it waits no longer. */
  letIn(request: IncomingMessage): void;
  readonly size: number;
}

interface Place {
  group: string;
  connection: LobbyConnection | undefined;
  stopTimer: () => void;
}

export function createLobby(options: LobbyOptions): Lobby {
  const { connectionsMax, waitingPerAddressMax, waitingMsMax, countInside, startTimer } = options;
  /** In the order in which they came. */
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
        return 'too many connections of this address have not said who they are';
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
    opened(request, connection) {
      const place = places.get(request);
      // Its time was up before it was open.
      if (place === undefined) return void connection.close(true);
      place.connection = connection;
      connection.once('close', () => leave(request));
    },
    letIn: (request) => void leave(request),
    get size() {
      return places.size;
    },
  };
}
