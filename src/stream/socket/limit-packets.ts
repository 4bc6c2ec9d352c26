/** A connection of engine.io. */
export interface PacketConnection {
  on(event: 'packet', listener: (packet: { type: string; data?: unknown }) => void): unknown;
  /** @param discard true to close without waiting for buffered data */
  close(discard: boolean): unknown;
}

/** A client needs one packet to authenticate. The others are for clients that try another token. */
const OPENING_PACKETS_MAX = 10;

/**
 * Closes a connection that sends too many packets before it is authenticated, or too many requests to open a namespace.
 * One body can have ten thousand of them. Each costs a check of a token, and no rate limit can stop the body in between.
 */
export function limitPackets(connection: PacketConnection, isWaiting: () => boolean): void {
  let count = 0;
  connection.on('packet', ({ type, data }) => {
    if (type !== 'message' || !(isWaiting() || opensNamespace(data))) return;
    count++;
    // The other packets of the same body are ignored, because the connection is closed.
    if (count > OPENING_PACKETS_MAX) connection.close(true);
  });
}

/** Packets of socket.io begin with their type. 0 is CONNECT. */
function opensNamespace(data: unknown): boolean {
  return typeof data === 'string' && data.startsWith('0');
}
