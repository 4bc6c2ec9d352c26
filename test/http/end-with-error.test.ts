import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { endWithError } from '../../src/http/http-server.ts';

test.each([
  [408, true],
  [431, false],
  [404, false],
])('an answer %i without a reply says if the request can be sent again: %s', async (status, retryable) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.once('data', () => endWithError(socket, status, 'InvalidRequest', 'a message'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ error: 'InvalidRequest', message: 'a message', status, retryable });
});
