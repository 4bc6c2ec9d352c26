import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';

/** A connection without the library. A test can send any text on it, and read everything. */
export async function openRaw(baseUrl: string, query = ''): Promise<WebSocket> {
  const socket = new WebSocket(
    `${baseUrl.replace('http', 'ws')}${SOCKET_PATH}/?EIO=4&transport=websocket${query}`,
  );
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  await once(socket, 'message');
  return socket;
}

/** The same, accepted with a token. */
export async function openRawWith(baseUrl: string, token: string): Promise<WebSocket> {
  const socket = await openRaw(baseUrl);
  socket.send(`40${JSON.stringify({ token })}`);
  await once(socket, 'message');
  return socket;
}

/** The JSON payload of the next event of that name. */
export function nextEvent(socket: WebSocket, event: string): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    const look = (data: Buffer) => {
      const text = data.toString();
      if (!text.startsWith(`42["${event}"`)) return;
      socket.off('message', look);
      resolve(JSON.parse(text.slice(2))[1]);
    };
    socket.on('message', look);
  });
}
