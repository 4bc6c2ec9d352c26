import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { Server as SocketServer } from 'socket.io';
import { WebSocketServer } from 'ws';
import { createAccess } from '../src/access/access.ts';
import { socketEvents } from '../src/contract/socket-events.ts';
import { limits } from '../src/contract/wire-limits.ts';
import { createHttpServer } from '../src/http/http-server.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { startSystemTimer } from '../src/lib/timer.ts';
import { openLmdbLog } from '../src/stream/log/lmdb-log.ts';
import type { StreamLog } from '../src/stream/log/stream-log.ts';
import { registerStreamSocket } from '../src/stream/socket/stream-socket.ts';
import { createStream } from '../src/stream/stream.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

/**
 * The service's socket and, next to it, a bare `ws` server and a bare `socket.io` server that send ready
 * frames of the same size. They have a thread of their own, so that they do not share the thread of the
 * clients which measure them.
 */
export type SocketWorkerRequest =
  | { kind: 'append'; messages: number }
  | { kind: 'count' }
  /** The memory that the server holds after a garbage collection. */
  | { kind: 'memory' }
  | { kind: 'stop' };

export interface SocketWorkerAnswer {
  reads: number;
  cpuMs: number;
  bytesHeld: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const BATCH_MESSAGES = 10_000;
const HEAD_BYTES = 200;
const dataDir = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
const retentionMs = 3_600_000;
let reads = 0;
const stream = createStream({
  openLog: () => {
    const log = openLmdbLog({
      path: join(dataDir, 'log'),
      clock: systemClock,
      retentionMs,
      cacheBytesMax: 64e6,
      logger: silentLogger,
    });
    return { ...log, read: counted(log) };
  },
  retentionMs,
  clock: systemClock,
  startTimer: startSystemTimer,
  logger: silentLogger,
});
const access = await createAccess({ dataDir, issuer: 'bench', clock: systemClock });
const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000_000 });
registerStreamSocket(app, {
  stream,
  access,
  groupsOf: () => ({}),
  retentionMs,
  requestsPerMinuteMax: 1_000_000,
  clock: systemClock,
  startTimer: startSystemTimer,
  logger: silentLogger,
});
await app.listen({ host: '127.0.0.1', port: 0 });
const log = await stream.logOf('bench');

const { batch } = telemetryBodies(1, BATCH_MESSAGES)[0]!;
/** The frames have as many bytes as those of the service, and as many different bytes. */
const frames: Buffer[] = [];
const bare = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
bare.on('connection', (socket, request) => {
  const acknowledges = request.url === '/acknowledged';
  let sent = frames.length;
  const sendOne = () => {
    if (sent < frames.length) socket.send(frames[sent++]!, acknowledges ? undefined : sendOne);
  };
  socket.on('message', (text) => {
    if (String(text) === 'acknowledged') return sendOne();
    sent = 0;
    for (let number = 0; number < limits.framesUnacknowledgedMax; number++) sendOne();
  });
});
const bareLibrary = createServer().listen(0, '127.0.0.1');
const library = new SocketServer(bareLibrary, { transports: ['websocket'], perMessageDeflate: false });
library.on('connection', (socket) => {
  socket.on('all', () => {
    for (const frame of frames) socket.emit(socketEvents.data, frame);
  });
});

const issued = await access.issue({
  subject: 'bench',
  scopes: { bench: { permissions: ['search:read', 'org:audit'] } },
  lifetimeMs: 3_600_000,
});
parentPort!.on('message', async (request: SocketWorkerRequest) => {
  switch (request.kind) {
    case 'append':
      await append(request.messages);
      break;
    case 'memory':
      collectGarbage();
      break;
    case 'count':
      break;
    case 'stop':
      return end();
    default:
      request satisfies never;
  }
  const { user, system } = process.threadCpuUsage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const answer: SocketWorkerAnswer = {
    reads,
    cpuMs: (user + system) / 1_000,
    bytesHeld: heapUsed + arrayBuffers,
  };
  parentPort!.postMessage(answer);
});
parentPort!.postMessage({
  service: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
  bare: `ws://127.0.0.1:${(bare.address() as AddressInfo).port}`,
  bareLibrary: `http://127.0.0.1:${(bareLibrary.address() as AddressInfo).port}`,
  token: issued.token,
});

async function append(messages: number): Promise<void> {
  for (let left = messages; left > 0; left -= BATCH_MESSAGES) {
    const count = Math.min(left, BATCH_MESSAGES);
    await log.append({ ...batch, count, starts: batch.starts.subarray(0, count + 1) });
    if (count < BATCH_MESSAGES) continue;
    for (let first = 0; first < count; first += limits.frameMessagesMax) {
      const [from, to] = [batch.starts[first], batch.starts[first + limits.frameMessagesMax]];
      frames.push(Buffer.concat([Buffer.alloc(HEAD_BYTES), batch.bytes.subarray(from, to)]));
    }
  }
}

function counted(log: StreamLog): StreamLog['read'] {
  return (request) => {
    reads++;
    return log.read(request);
  };
}

async function end(): Promise<void> {
  await stream.close();
  await app.close();
  for (const client of bare.clients) client.terminate();
  bare.close();
  await library.close();
  rmSync(dataDir, { recursive: true });
  parentPort!.close();
}
