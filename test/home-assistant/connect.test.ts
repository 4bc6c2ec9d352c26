import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';

const signal = new AbortController().signal;
const token = 'a-long-lived-access-token';

/** Takes connections and says nothing. */
async function listen(server: Server) {
  const sockets = new WebSocketServer({ server });
  const connected = Promise.withResolvers<void>();
  sockets.on('connection', () => connected.resolve());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    server.close();
  });
  return { sockets, connected: connected.promise, port: (server.address() as AddressInfo).port };
}

test('a server that says nothing is given up after 15 seconds', async () => {
  const { connected, port } = await listen(createServer());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = expect(
    connectHomeAssistant({ url: `http://127.0.0.1:${port}`, token }, signal),
  ).rejects.toThrow('has not answered within 15 s');
  await connected;
  vi.advanceTimersByTime(15_000);
  await refused;
});

test('a server with a certificate that nobody trusts gets nothing', async () => {
  const { sockets, port } = await listen(createTlsServer({ cert: testCertificate, key: testCertificateKey }));
  let connections = 0;
  sockets.on('connection', () => {
    connections += 1;
  });
  await expect(connectHomeAssistant({ url: `https://localhost:${port}`, token }, signal)).rejects.toThrow(
    'its certificate is not trusted; check the address; if you have your own certificate authority, set NODE_EXTRA_CA_CERTS',
  );
  expect(connections).toBe(0);
});

/** Connects to a server that signs everybody in, and answers a command with these messages. */
async function connectTo(answersTo: (command: { id: number; type: string }) => unknown[]) {
  const { sockets, port } = await listen(createServer());
  sockets.on('connection', (socket, { url }) => {
    if (url !== '/api/websocket') socket.terminate();
    socket.send('{"type":"auth_required"}');
    socket.on('message', (bytes) => {
      const command = JSON.parse(bytes.toString());
      const answers = command.type === 'auth' ? [{ type: 'auth_ok' }] : answersTo(command);
      for (const answer of answers) socket.send(JSON.stringify(answer));
    });
  });
  const homeAssistant = await connectHomeAssistant({ url: `http://127.0.0.1:${port}/`, token }, signal);
  onTestFinished(() => homeAssistant.close());
  return homeAssistant;
}

test('the answer to a command is its own result, and not another message', async () => {
  const { call } = await connectTo(({ id }) => [
    { id: id + 1, type: 'result', success: true, result: 'of another command' },
    { id, type: 'event', success: true, result: 'an event' },
    { id, type: 'result', success: true, result: 'its own' },
  ]);
  expect(await call('a/b', {})).toBe('its own');
});

const old = '; this version may be too old for it: update Home Assistant';
for (const [error, text] of [
  [
    { code: 'unauthorized', message: 'No.' },
    '(unauthorized: No.); the token must be that of an administrator',
  ],
  [{ code: 'unknown_command', message: 'No.' }, `(unknown_command: No.)${old}`],
  [{ code: 'invalid_format', message: 'No.' }, `(invalid_format: No.)${old}`],
  [{ code: 'x', message: '\u001b[1m' }, '(x: \\u001b[1m)'],
  [{ code: 'x', message: 'y'.repeat(400) }, `(x: ${'y'.repeat(297)})`],
  [undefined, '(unknown: )'],
] as const)
  test(`a refused command says why: ${text.slice(0, 80)}`, async () => {
    const { call } = await connectTo(({ id }) => [{ id, type: 'result', success: false, error }]);
    const refusal = await call('a/b', {}).catch((thrown: Error) => thrown.message);
    expect(refusal).toMatch(/^Home Assistant at 127\.0\.0\.1:\d+ refuses a\/b /);
    expect(String(refusal).split('refuses a/b ')[1]).toBe(text);
  });

test('another kind of server is named as such, gets no token, and the connection is closed', async () => {
  const { sockets, port } = await listen(createServer());
  const received: string[] = [];
  const closed = Promise.withResolvers<void>();
  sockets.on('connection', (socket) => {
    socket.send('{"type":"hello"}');
    socket.on('message', (bytes) => received.push(bytes.toString()));
    socket.on('close', () => closed.resolve());
  });
  await expect(connectHomeAssistant({ url: `http://127.0.0.1:${port}`, token }, signal)).rejects.toThrow(
    'does not answer like Home Assistant; check the address',
  );
  await closed.promise;
  expect(received).toEqual([]);
});
