import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openProcessTokens } from '../../src/access/process-token.ts';
import { sha256Hex } from '../../src/lib/durable-files.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { systemClock } from '../../src/lib/time.ts';
import { sendRpc } from '../../src/worker-rpc/rpc-http.ts';
import { type RemoteCall, sendCall } from '../../src/worker-rpc/send-call.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeKeys } from './remote-support.ts';

const tokens = shared(async () =>
  openProcessTokens({ keyFile: await writeKeys(tempDir()), issuer: 'wattline', clock: systemClock }),
);
const never = new AbortController().signal;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A program that answers on a port, and a function that calls it. */
async function listen(answer: Answer) {
  const server = createServer().on('checkContinue', answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const to = { workerId: 'w', host: '127.0.0.1', port, machine: 'm' };
  const call = (more: Partial<RemoteCall> = {}, signal = never) =>
    sendCall(
      to,
      { workgroupId: 'acme', operation: 'status', body: '{}', wake: true, ...more },
      tokens(),
      signal,
    );
  return { server, call };
}

/** A worker that takes the arguments and answers with a body. */
const worker =
  (body: object): Answer =>
  (request, response) => {
    response.writeContinue();
    request.resume().once('end', () => {
      response.setHeader('wattline-control', '1');
      sendRpc(response, 200, body);
    });
  };

test('a call has a token for exactly this call, its arguments and its file', async () => {
  const path = join(tempDir(), 'rows');
  writeFileSync(path, 'rows');
  const heard: unknown[] = [];
  const { call } = await listen(async (request, response) => {
    response.writeContinue();
    const { authorization = '', ...headers } = request.headers;
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const token = await tokens().check(authorization.replace('Bearer ', ''));
    heard.push({
      url: `${request.method} ${request.url}`,
      body,
      wake: headers['wattline-wake'],
      bytes: [headers['content-length'], headers['wattline-arguments-bytes']],
      call: token.kind === 'valid' && token.call,
    });
    response.setHeader('wattline-control', '1');
    sendRpc(response, 200, { result: { rows: 5n } });
  });
  const body = '{"name":"Dächer"}';
  expect(await call({ body, operation: 'upload', path })).toEqual({ kind: 'answer', answer: { rows: '5' } });
  await call({ wake: false });
  const signed = { receiver: 'w', workgroupId: 'acme' };
  expect(heard).toEqual([
    {
      url: 'POST /acme/upload',
      body: `${body}rows`,
      wake: undefined,
      bytes: ['22', '18'],
      call: {
        ...signed,
        operation: 'upload',
        argumentsSha256: sha256Hex(body),
        file: { bytes: 4, sha256: sha256Hex('rows') },
      },
    },
    {
      url: 'POST /acme/status',
      body: '{}',
      wake: 'no',
      bytes: ['2', '2'],
      call: { ...signed, operation: 'status', argumentsSha256: sha256Hex('{}') },
    },
  ]);
});

test.each([
  ['hibernates', 'Hibernated'],
  ['not-here', 'NotHere'],
  ['not-here', 'ShardNotOpen'],
  ['not-here', 'StaleOwner'],
])('a call is %s if the worker answers %s', async (kind, code) => {
  const { call } = await listen(worker({ error: { code, message: '' } }));
  expect(await call()).toEqual({ kind });
});

test.each([
  [undefined, TerminalError],
  ['transient', TransientError],
])('another error of the worker is a failure, of its type (%s)', async (type, expected) => {
  const { call } = await listen(worker({ error: { type, code: 'DiskFull', message: 'no room' } }));
  const reply = await call();
  expect(reply).toMatchObject({ kind: 'failed', error: { code: 'DiskFull', message: 'no room' } });
  expect(reply.kind === 'failed' && reply.error).toBeInstanceOf(expected);
});

test('a call did nothing if its arguments were not sent, or another program has the port', async () => {
  const other = await listen((_, response) => void response.end('{"result":1}'));
  expect(await other.call()).toEqual({ kind: 'not-here' });
  const broken = await listen((request) => request.socket.destroy());
  expect(await broken.call()).toEqual({ kind: 'not-here' });
  other.server.close();
  other.server.closeAllConnections();
  await once(other.server, 'close');
  expect(await other.call()).toEqual({ kind: 'not-here' });
});

test('nobody knows what a call did if its arguments were sent and no whole answer came', async () => {
  const { call } = await listen((request, response) => {
    response.writeContinue();
    request.resume().once('end', () => request.socket.destroy());
  });
  expect(await call()).toMatchObject({ kind: 'unknown' });
  const unreadable = await listen((request, response) => {
    response.writeContinue();
    response.setHeader('wattline-control', '1');
    request.resume().once('end', () => response.end('{'));
  });
  expect(await unreadable.call()).toMatchObject({ kind: 'unknown' });
});

test('a caller that leaves gets its reason if nothing was sent, and otherwise nobody knows', async () => {
  const left = new Error('enough');
  const asker = new AbortController();
  const silent = await listen(() => asker.abort(left));
  await expect(silent.call({}, asker.signal)).rejects.toBe(left);
  await expect(silent.call({}, AbortSignal.abort(left))).rejects.toBe(left);
  const later = new AbortController();
  const begun = await listen((request, response) => {
    response.writeContinue();
    request.resume().once('end', () => later.abort(left));
  });
  expect(await begun.call({}, later.signal)).toMatchObject({ kind: 'unknown' });
});
