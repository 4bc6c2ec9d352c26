import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../support/until.ts';
import { setUpMachines } from './remote-support.ts';

const timeout = 240_000;
const GIGABYTE = 1_000_000_000;

async function setUp() {
  const { startOwner, control, directory } = await setUpMachines();
  await startOwner(async () => ({ kind: 'idle' }) as never);
  const found = await directory.find('acme');
  if (found.kind !== 'owner') throw new Error('no owner');
  const { port } = found.owner;
  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { control, open };
}

test('a body of a gigabyte without a token is refused before it is read', { timeout }, async () => {
  const { control, open } = await setUp();
  const socket = open();
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes;
  });
  socket.write(`POST /acme/status HTTP/1.1\r\nHost: worker\r\nContent-Length: ${GIGABYTE}\r\n\r\n`);
  const chunk = Buffer.alloc(65_536);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  while (!socket.destroyed && socket.bytesWritten < GIGABYTE)
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
  await closed;
  expect(answer).toMatch(/^HTTP\/1.1 401 /);
  expect(socket.bytesWritten).toBeLessThan(GIGABYTE / 10);
  expect((await control.ask('acme', 'importState', undefined)).kind).toBe('answer');
});

test('a thousand silent connections end by themselves, and calls are answered again', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { control, open } = await setUp();
  const silent = Array.from({ length: 1_000 }, open);
  await until('most were refused', () => silent.filter((socket) => socket.destroyed).length >= 700);
  await until('the others have ended', () => silent.every((socket) => socket.destroyed));
  expect((await control.ask('acme', 'importState', undefined)).kind).toBe('answer');
});
