import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { testCertificate, testCertificateKey } from './test-certificate.ts';

/**
 * Takes MQTT over WebSocket and TLS from clients with the certificate of the tests, and hands it to a broker,
 * as a proxy before a broker does. The mosquitto of Debian 12 is built without WebSocket.
 * @returns its address
 */
export async function startWebSocketGateway(brokerPort: number): Promise<string> {
  const server = createServer({
    key: testCertificateKey,
    cert: testCertificate,
    ca: testCertificate,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const sockets = new WebSocketServer({
    server,
    handleProtocols: (offered) => (offered.has('mqtt') ? 'mqtt' : false),
  });
  sockets.on('connection', (socket) => {
    const client = createWebSocketStream(socket);
    const broker = connect(brokerPort, '127.0.0.1');
    // If one side closes, the other side is closed too.
    client.on('error', () => broker.destroy());
    broker.on('error', () => client.destroy());
    client.pipe(broker).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        server.close(() => resolve());
      }),
  );
  return `wss://127.0.0.1:${(server.address() as AddressInfo).port}/mqtt`;
}
