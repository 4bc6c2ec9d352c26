/** A connection of engine.io. */
export interface PacketConnection {
  on(event: 'packet', listener: (packet: { type: string; data?: unknown }) => void): unknown;
  /** @param discard true to close without waiting for buffered data */
  close(discard: boolean): unknown;
}

/** A client needs one packet to authenticate. The others are for clients that try another token. */
const OPENING_PACKETS_MAX = 10;
/** A client with the most subscriptions sends at most 128 acknowledgements at once. */
const PACKETS_AT_ONCE_MAX = 500;

/**
 * Closes a connection that sends too many packets before it is authenticated, too many requests to open a
 * namespace, or too many packets at once. One body can have ten thousand packets, and no other
 * caller is served while they are handled.
 */
export function limitPackets(connection: PacketConnection, isWaiting: () => boolean): void {
  let opening = 0;
  let atOnce = 0;
  connection.on('packet', ({ type, data }) => {
    if (type === 'message' && (isWaiting() || opensNamespace(data))) opening++;
    if (atOnce === 0)
      setImmediate(() => {
        atOnce = 0;
      });
    atOnce++;
    // The other packets of the same body are ignored, because the connection is closed.
    if (opening > OPENING_PACKETS_MAX || atOnce > PACKETS_AT_ONCE_MAX) connection.close(true);
  });
}

/** Packets of socket.io begin with their type. 0 is CONNECT. */
function opensNamespace(data: unknown): boolean {
  return typeof data === 'string' && data.startsWith('0');
}
