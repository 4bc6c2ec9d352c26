import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../../src/lib/time.ts';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { heldBytes } from '../../support/held-bytes.ts';
import { telemetry, wideTelemetry } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { readToTail } from '../../support/redis-log.ts';
import { isSoak, rounds } from '../../support/rounds.ts';
import { type StreamService, startStreamService } from '../../support/stream-service.ts';
import { until } from '../../support/until.ts';

const TABLE = '/api/v1/tables/acme/solar';
const ROUNDS = rounds(10, 40);

/** An attack on a service while another client works. */
interface Nuisance {
  name: string;
  /** The memory that it may cost in MiB, including its clients in this process. */
  mebibytesMax: number;
  /** Resolves when the attack is under way. */
  begin(service: StreamService, head: (method: string, path: string) => string): Promise<void>;
}

const nuisances: Nuisance[] = [
  {
    name: 'two hundred long polls',
    mebibytesMax: 20,
    async begin({ call, token, stream }) {
      const own = await token();
      const signal = endOfTest();
      for (let number = 0; number < 200; number++)
        void (async () => {
          const headers = { prefer: 'wait=20' };
          while (!signal.aborted)
            await call('/api/v1/tables/acme/quiet/latest', { token: own, headers, signal }).catch(
              () => undefined,
            );
        })();
      await until('all are held', () => stream.counts().some(({ heldReads }) => heldReads === 200));
    },
  },
  {
    name: 'three hundred heads that come byte by byte',
    mebibytesMax: 20,
    async begin(service, head) {
      const text = `${head('GET', `${TABLE}/latest`)}X-Endless: `;
      const sockets = await open(service, 300);
      const signal = endOfTest();
      let sent = 0;
      void (async () => {
        for (; !signal.aborted; sent++) {
          for (const socket of sockets) socket.write(text[sent] ?? 'x');
          await sleep(20);
        }
      })();
      await until('each has begun', () => sent > 5);
    },
  },
  {
    name: 'forty bodies of 8 MiB that stop on the way',
    mebibytesMax: 60,
    async begin(service, head) {
      const piece = Buffer.alloc(2 * MEBIBYTE, ' ');
      const sockets = await open(service, 40);
      for (const socket of sockets) {
        socket.write(`${bodyHead(head)}Content-Length: ${8 * MEBIBYTE}\r\n\r\n`);
        socket.write(piece);
      }
      const isDone = (socket: Socket) =>
        socket.writableLength === 0 || socket.bytesRead > 0 || socket.destroyed;
      await until('each is sent or refused', () => sockets.every(isDone));
    },
  },
  {
    name: 'twenty bodies without end',
    mebibytesMax: 150,
    async begin(service, head) {
      const signal = endOfTest();
      const piece = Buffer.alloc(64 * 1024, '1,');
      const chunk = Buffer.concat([
        Buffer.from(`${piece.length.toString(16)}\r\n`),
        piece,
        Buffer.from('\r\n'),
      ]);
      const sockets = await open(service, 20);
      for (const socket of sockets) {
        socket.write(`${bodyHead(head)}Transfer-Encoding: chunked\r\n\r\n`);
        void (async () => {
          while (!signal.aborted && socket.writable) {
            if (socket.writableLength < MEBIBYTE) socket.write(chunk);
            await sleep(20);
          }
        })();
      }
      const isUnderWay = (socket: Socket) =>
        socket.bytesWritten > MEBIBYTE || socket.bytesRead > 0 || socket.destroyed;
      await until('each sends or is refused', () => sockets.every(isUnderWay));
    },
  },
  {
    name: 'sixty readers that do not read what they asked for',
    mebibytesMax: 200,
    async begin(service, head) {
      const log = await service.stream.logOf('acme');
      const batch = encodeMessages(wideTelemetry(1_000), 'wide');
      // More than an answer of 8 MiB.
      for (let count = 0; count < 12; count++) await log.append(batch);
      for (const socket of await open(service, 60)) {
        socket.pause();
        socket.write(`${head('GET', '/api/v1/tables/acme/wide/latest')}Prefer: wait=0\r\n\r\n`);
      }
    },
  },
];

function bodyHead(head: (method: string, path: string) => string): string {
  return `${head('POST', `${TABLE}/messages`)}Content-Type: application/json\r\n`;
}

test.each(nuisances)(
  '$name cost a bounded amount of memory, and others are served meanwhile and in full',
  { tags: ['slow'] },
  async ({ name, mebibytesMax, begin }) => {
    const service = await startStreamService();
    const [own, theirs] = [await service.token(), await service.token()];
    const before = await heldBytes();
    await begin(
      service,
      (method, path) => `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${theirs}\r\n`,
    );
    // Is answered after all requests that came before it.
    await service.call(`${TABLE}/latest?limit=1`, { token: own });
    const taken = await workWith(service, 'acme', own);
    const mebibytes = ((await heldBytes()) - before) / MEBIBYTE;
    process.stdout.write(
      `${name}: ${mebibytes.toFixed(0)} MiB; a message was sent and read meanwhile ${taken}\n`,
    );
    expect(mebibytes).toBeLessThan(mebibytesMax);
  },
);

test('the quota of unfinished requests and unread answers counts for each token, and is freed at their end', async () => {
  const service = await startStreamService();
  const [own, theirs] = [await service.token(), await service.token()];
  const ask = (token: string, bytes: number) =>
    connectTo(service, (socket) =>
      socket.write(
        `POST ${TABLE}/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
      ),
    );
  const underWay = await Promise.all(Array.from({ length: 16 }, () => ask(theirs, 8 * MEBIBYTE)));
  const send = (token: string) =>
    service.call(`${TABLE}/messages`, {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(telemetry(1)),
    });
  await until('it has all it may have', async () => (await send(theirs)).status === 429);
  const refused = await send(theirs);
  expect(refused.headers['retry-after']).toBe('1');
  expect(refused.body).toMatchObject({ error: 'RateLimited', retryable: true });
  expect((await send(own)).status).toBe(200);
  underWay[0]!.destroy();
  await until('one has ended', async () => (await send(theirs)).status === 200);
});

test.runIf(isSoak)(
  'forty writers during an outage of Redis cost bounded memory, lose nothing and block no other log',
  async () => {
    const server = await startRedis({ appendonly: 'yes', appendfsync: 'always' });
    onTestFinished(server.stop);
    const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
    onTestFinished(() => redis.close());
    const options = { clock: systemClock, retentionMs: HOUR_MS, cacheBytesMax: 16e6, logger: silentLogger };
    const service = await startStreamService({
      openLog: (workgroupId) =>
        workgroupId === 'acme'
          ? openRedisLog({ ...options, redis, workgroupId })
          : createMemoryLog({ ...options, bytesMax: 16e6 }),
    });
    const [token, other] = [await service.token(), await service.token({}, 'other')];
    const acknowledged: number[] = [];
    let refused = 0;
    let isDone = false;
    const headers = { 'content-type': 'application/json' };
    const writers = Array.from({ length: 40 }, async (_, writer) => {
      for (let round = 0; !isDone; round++) {
        const items = telemetry(20, { first: writer * 1_000_000 + round * 20 });
        const body = JSON.stringify(items);
        const { status } = await service.call(`${TABLE}/messages`, { method: 'POST', token, headers, body });
        if (status === 200) acknowledged.push(...items.map(({ msg_id }) => msg_id!));
        else {
          expect(status).toBe(503);
          refused++;
          await sleep(20);
        }
      }
    });
    await until('they write', () => acknowledged.length > 1_000);
    const before = await heldBytes();
    await server.restart({
      async whileDown() {
        await until('they are refused', () => refused > 100);
        const taken = await workWith(service, 'other', other);
        const mebibytes = ((await heldBytes()) - before) / MEBIBYTE;
        process.stdout.write(
          `forty writers while Redis is down: ${mebibytes.toFixed(0)} MiB; one of another log was sent and read meanwhile ${taken}\n`,
        );
        expect(mebibytes).toBeLessThan(60);
      },
    });
    const whileDown = acknowledged.length;
    await until('they go on', () => acknowledged.length > whileDown + 1_000);
    isDone = true;
    await Promise.all(writers);
    const { messages } = await readToTail(await service.stream.logOf('acme'));
    const stored = messages.map((message) => ('msg_id' in message ? message.msg_id : undefined));
    expect(new Set(stored).size).toBe(stored.length);
    const there = new Set(stored);
    expect(acknowledged.filter((number) => !there.has(number))).toEqual([]);
  },
);

/** Sends messages and reads each one at once. Returns the times, for people. */
async function workWith(service: StreamService, workgroup: string, token: string): Promise<string> {
  const table = `/api/v1/tables/${workgroup}/solar`;
  let { next } = await (await service.stream.logOf(workgroup)).bounds();
  const tookMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now();
    const sent = await service.call(`${table}/messages`, {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(telemetry(1, { first: round })),
    });
    expect(sent.status).toBe(200);
    const { body } = await service.call(`${table}/latest?offset=${next}`, { token });
    expect(body.messages).toMatchObject([{ msg_id: round }]);
    next = body.nextOffset as bigint;
    tookMs.push(performance.now() - startedMs);
  }
  tookMs.sort((a, b) => a - b);
  const [medianMs, slowestMs] = [tookMs[ROUNDS / 2]!, tookMs.at(-1)!];
  return `in ${medianMs.toFixed(0)} ms, the slowest of ${ROUNDS} in ${slowestMs.toFixed(0)} ms`;
}

/** Aborts when the test has ended. */
function endOfTest(): AbortSignal {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller.signal;
}

function connectTo({ baseUrl }: StreamService, begin: (socket: Socket) => void): Promise<Socket> {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return once(socket, 'connect').then(() => {
    begin(socket);
    return socket;
  });
}

function open(service: StreamService, count: number): Promise<Socket[]> {
  return Promise.all(Array.from({ length: count }, () => connectTo(service, () => undefined)));
}
