import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimit {
  /** Called when a valid token was used on a connection. It is then not closed for another one. */
  keep(connection: Socket): void;
}

/**
 * Limits the connections of a server. If there are too many, the oldest connection without a valid token is
 * closed, because a caller without a token could otherwise hold all of them and lock everybody out. If there
 * is none, the new one is closed.
 */
export function limitConnections(server: Server, connectionsMax: number): ConnectionLimit {
  /** In the order of arrival. */
  const withoutToken = new Set<Socket>();
  let count = 0;
  server.on('connection', (connection: Socket) => {
    count++;
    withoutToken.add(connection);
    connection.once('close', () => {
      count--;
      withoutToken.delete(connection);
    });
    if (count <= connectionsMax) return;
    const [oldest] = withoutToken;
    withoutToken.delete(oldest!);
    oldest!.destroy();
  });
  return { keep: (connection) => void withoutToken.delete(connection) };
}
