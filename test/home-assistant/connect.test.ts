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
