import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { SOCKET_PATH } from '../../../src/contract/socket-events.ts';
import { clientOf } from '../../support/socket-client.ts';
import { setUp } from './start-socket-service.ts';

test('the other addresses of a host reach the same service', async () => {
  const { app, baseUrl } = await setUp();
  const other = createServer((asked, answer) => app.routing(asked, answer));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const address = `:${port}${SOCKET_PATH}/?EIO=4&transport=polling`;
  const opened = await (await fetch(`http://127.0.0.1${address}`)).text();
  const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
  const sent = await fetch(`${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling&sid=${sid}`, {
    method: 'POST',
    body: '40',
  });
  expect(sent.status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1${address}&sid=${sid}`)).text()).toContain(
    'AuthenticationRequired',
  );
});

test('other paths of the server work as before, and no other path accepts upgrades', async () => {
  const { call, tokenText, baseUrl } = await setUp();
  expect((await call('/api/v1/tables/acme/solar/latest', { token: tokenText })).status).toBe(200);
  expect((await call('/nothing', {})).status).toBe(404);
  const answer = await fetch(`${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling`, {
    headers: { origin: 'https://elsewhere.example' },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  expect(answer.headers.get('set-cookie')).toBeNull();
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await answer.text()).toContain('"upgrades":["websocket"]');
  expect((await fetch(`${baseUrl}${SOCKET_PATH}/socket.io.js`)).status).toBe(400);
  const client = clientOf({ baseUrl }, { path: '/elsewhere', timeout: 500 });
  const error = await new Promise<Error & { description?: Error }>((resolve) =>
    client.socket.once('connect_error', resolve),
  );
  expect(error.description?.message).toContain('404');
});
