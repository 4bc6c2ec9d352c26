import { createServer, type ServerResponse } from 'node:http';
import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { exchange } from '../../src/client/exchange.ts';

const BYTES_MAX = 20_000;
const patient = { headersMs: 60_000, bodyMs: 60_000, totalMs: 60_000 };

/** Asks a server that answers in this way. */
async function ask(
  answer: (response: ServerResponse) => void,
  {
    timeouts = patient,
    signal,
    connections = 1,
  }: { timeouts?: typeof patient; signal?: AbortSignal; connections?: number } = {},
) {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const pool = new Pool(origin, { connections });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await pool.destroy();
  });
  const allocated: number[] = [];
  const send = (path = '/a?secret=1') =>
    exchange(
      pool,
      { origin, path, method: 'GET', headers: {} },
      {
        timeouts,
        bytesMax: BYTES_MAX,
        ...(signal && { signal }),
        allocate(bytes) {
          allocated.push(bytes);
          return new ArrayBuffer(bytes);
        },
      },
    );
  return { send, origin, allocated, server };
}

const bodyOf = (size: number) => Buffer.from(Array.from({ length: size }, (_, index) => index % 251));

test.each([0, 1, 16_384, 16_385, BYTES_MAX])(
  'an answer of %d bytes is whole, announced or not',
  async (size) => {
    const body = bodyOf(size);
    const announced = await ask((response) => {
      response.writeHead(404, { 'content-length': size, 'x-more': 'it' });
      response.end(body);
    });
    const { status, headers, bytes } = await announced.send();
    expect([status, headers['x-more'], Buffer.compare(bytes, body)]).toEqual([404, 'it', 0]);
    expect(announced.allocated).toEqual(size === 0 ? [] : [size]);
    const inParts = await ask((response) => {
      response.write(body.subarray(0, size / 2));
      response.end(body.subarray(size / 2));
    });
    expect(Buffer.compare((await inParts.send()).bytes, body)).toBe(0);
  },
);

test.each([
  ['announced', { 'content-length': BYTES_MAX + 1 }],
  ['not announced', {}],
])('a larger answer is refused: %s', async (_, headers) => {
  const { send, origin, allocated } = await ask((response) => {
    response.writeHead(200, headers);
    response.end(bodyOf(BYTES_MAX + 1));
  });
  await expect(send()).rejects.toMatchObject({
    code: 'AnswerTooLarge',
    message: `the answer of ${origin}/a is larger than 20000 bytes; ask for fewer messages at a time, or raise the limit`,
  });
  expect(Math.max(0, ...allocated)).toBeLessThanOrEqual(BYTES_MAX);
});

test('a status that comes before the answer is not its status', async () => {
  const { send } = await ask((response) => {
    response.writeEarlyHints({ link: '</style>; rel=preload' });
    response.writeHead(200, { 'x-more': 'it' });
    response.end('body');
  });
  const { status, headers, bytes } = await send();
  expect([status, headers['x-more'], headers.link, String(Buffer.from(bytes))]).toEqual([
    200,
    'it',
    undefined,
    'body',
  ]);
});

test.each([
  ['no head', { ...patient, headersMs: 30 }, () => undefined],
  [
    'a body that stops',
    { ...patient, bodyMs: 30 },
    (response: ServerResponse) => void response.writeHead(200).write('a'),
  ],
  ['no end in time', { ...patient, totalMs: 30 }, () => undefined],
])(
  'an answer that does not come is a time-out that names no parameters: %s',
  { tags: ['slow'] },
  async (_, timeouts, answer) => {
    const { send, origin } = await ask(answer, { timeouts });
    await expect(send()).rejects.toMatchObject({
      code: 'AnswerTimeout',
      message: expect.stringMatching(new RegExp(`^${origin}/a: `)),
    });
  },
);

test('a connection that breaks is a failure that may pass, and has the code of its cause', async () => {
  const { send, origin } = await ask((response) => void response.socket!.destroy());
  await expect(send()).rejects.toMatchObject({
    code: 'NetworkFailure',
    message: expect.stringMatching(new RegExp(`^${origin}/a: .`)),
    details: { cause: 'UND_ERR_SOCKET' },
  });
});

test('a request that is aborted ends with the reason, before it is sent, while it waits and while it is answered', async () => {
  const none = await ask((response) => void response.end(), { signal: AbortSignal.abort('before') });
  await expect(none.send()).rejects.toBe('before');
  const stopping = new AbortController();
  const arrived = Promise.withResolvers<void>();
  let requests = 0;
  const { send, server } = await ask(
    (response) => {
      requests += 1;
      response.writeHead(200).write('a');
      arrived.resolve();
    },
    { signal: stopping.signal },
  );
  const closed = new Promise((resolve) =>
    server.once('connection', (socket) => socket.once('close', resolve)),
  );
  const answered = send();
  const waiting = send('/waits');
  await arrived.promise;
  stopping.abort('stopped');
  await expect(answered).rejects.toBe('stopped');
  await expect(waiting).rejects.toBe('stopped');
  await closed;
  expect(requests).toBe(1);
});
