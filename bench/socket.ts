import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { SOCKET_PATH, socketEvents } from '../src/contract/socket-events.ts';
import { limits } from '../src/contract/wire-limits.ts';
import type { Ratio } from './decode.ts';
import type { SocketWorkerAnswer, SocketWorkerRequest } from './socket-worker.ts';

const FRAMES = 100;
const ROUNDS = 200;
const ROUNDS_TO_WARM_UP = 8;
const SUBSCRIBERS = 100;
const BATCHES = 40;
const UNREAD_CLIENTS = 20;

/**
 * Delivers 100,000 stored messages of ten fields to one client, with and without acknowledgements. A bare
 * `ws` connection that sends as many bytes in as many frames is the comparison. A bare `socket.io` shows how
 * much of the difference is the library. They take turns, so that a busy machine slows them all. Then sends
 * new batches to 100 subscribers, and counts reads of the log. Then lets clients read nothing.
 */
export async function benchSocket(print: (line: string) => void): Promise<Ratio[]> {
  const worker = new Worker(new URL('./socket-worker.ts', import.meta.url));
  const [server] = (await once(worker, 'message')) as [Server];
  const ask = async (request: SocketWorkerRequest): Promise<SocketWorkerAnswer> => {
    worker.postMessage(request);
    const [answer] = (await once(worker, 'message')) as [SocketWorkerAnswer];
    return answer;
  };
  await ask({ kind: 'append', messages: FRAMES * limits.frameMessagesMax });
  const one = await measureOne(server, () => ask({ kind: 'count' }));
  for (const [name, ms] of Object.entries(one))
    print(
      `${name.padEnd(22)} ${ms.toFixed(1).padStart(6)} ms for ${FRAMES} frames of ${limits.frameMessagesMax} messages`,
    );
  const many = await measureMany(server, ask);
  print(
    `${SUBSCRIBERS} subscribers: ${many.readsPerBatch.toFixed(2)} reads of the log a batch, ${many.cpuUs.toFixed(0)} µs of CPU for each subscriber and batch`,
  );
  const held = await measureUnread(server, ask);
  print(`a client that never reads: ${(held / 1024 ** 2).toFixed(2)} MB held for it`);
  worker.postMessage({ kind: 'stop' } satisfies SocketWorkerRequest);
  await once(worker, 'exit');
  return [
    {
      name: 'socket delivery, of the speed of bare ws',
      ratio: one['bare ws']! / one.socket!,
      ratioMin: 0.85,
    },
    {
      name: 'socket delivery, of the speed of bare socket.io',
      ratio: one['bare socket.io']! / one.socket!,
      ratioMin: 0.85,
    },
    {
      name: 'the same where every frame is acknowledged, four under way at most',
      ratio: one['bare ws, acknowledged']! / one['socket, acknowledged']!,
      // Most of the difference is the client of the library, which sends an acknowledgement as a separate
      // packet.
      ratioMin: 0.5,
    },
    { name: 'one read of the log a batch', ratio: 1 / many.readsPerBatch, ratioMin: 1 },
  ];
}

interface Server {
  service: string;
  bare: string;
  bareLibrary: string;
  token: string;
}
type Ask = (request: SocketWorkerRequest) => Promise<SocketWorkerAnswer>;

/**
 * @param whenIdle resolves when the server has nothing left to do. A bare socket.io frees 200 packets after
 *   its last frame. Their time would count for the next run
 */
async function measureOne(server: Server, whenIdle: () => Promise<unknown>): Promise<Record<string, number>> {
  const bare = await connectBare(server.bare);
  const bareAcknowledging = await connectBare(`${server.bare}/acknowledged`);
  const library = await connectLibrary(server.bareLibrary);
  const socket = await connect(server);
  const acknowledging = await connect(server);
  const runs: Record<string, () => Promise<void>> = {
    'bare ws': () => readBare(bare, false),
    'bare ws, acknowledged': () => readBare(bareAcknowledging, true),
    'bare socket.io': () => readLibrary(library),
    socket: () => readAll(socket, false),
    'socket, acknowledged': () => readAll(acknowledging, true),
  };
  const durations = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      await whenIdle();
      const started = performance.now();
      await run();
      if (round >= ROUNDS_TO_WARM_UP) durations.get(name)!.push(performance.now() - started);
    }
  }
  for (const each of [bare, bareAcknowledging]) each.terminate();
  for (const each of [library, socket, acknowledging]) each.disconnect();
  return Object.fromEntries(
    [...durations].map(([name, each]) => [name, each.sort((a, b) => a - b)[ROUNDS >> 2]!]),
  );
}

async function connectBare(address: string): Promise<WebSocket> {
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}

function readBare(socket: WebSocket, acknowledges: boolean): Promise<void> {
  return new Promise((resolve) => {
    let left = FRAMES;
    socket.on('message', () => {
      if (acknowledges) socket.send('acknowledged');
      if (--left > 0) return;
      socket.removeAllListeners('message');
      resolve();
    });
    socket.send('all');
  });
}

async function connectLibrary(address: string): Promise<Socket> {
  const socket = io(address, { transports: ['websocket'], forceNew: true });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return socket;
}

function readLibrary(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let left = FRAMES;
    socket.on(socketEvents.data, () => {
      if (--left > 0) return;
      socket.off(socketEvents.data);
      resolve();
    });
    socket.emit('all');
  });
}

/** Subscribes from the start of the log, and receives all stored messages. */
function readAll(socket: Socket, acknowledges: boolean): Promise<void> {
  return new Promise((resolve) => {
    const requestId = randomUUID();
    let left = FRAMES;
    socket.on(socketEvents.data, (_frame: Buffer, acknowledge?: () => void) => {
      if (acknowledges) acknowledge?.();
      if (--left > 0) return;
      socket.off(socketEvents.data);
      socket.emit(socketEvents.stop, { requestId });
      resolve();
    });
    socket.emit(socketEvents.subscribe, { requestId, timestamp: 0 });
  });
}

async function measureMany(server: Server, ask: Ask): Promise<{ readsPerBatch: number; cpuUs: number }> {
  const sockets = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => connect(server)));
  let frames = 0;
  let received = () => {};
  for (const socket of sockets) {
    await socket.emitWithAck(socketEvents.subscribe, { requestId: randomUUID() });
    socket.on(socketEvents.data, (_frame: Buffer, acknowledge?: () => void) => {
      acknowledge?.();
      frames++;
      received();
    });
  }
  // After this time each subscription has found out that there is no message yet.
  await sleep(200);
  const before = await ask({ kind: 'count' });
  for (let batch = 1; batch <= BATCHES; batch++) {
    const all = new Promise<void>((resolve) => {
      received = () => {
        if (frames === batch * SUBSCRIBERS) resolve();
      };
    });
    await ask({ kind: 'append', messages: limits.frameMessagesMax });
    await all;
  }
  const after = await ask({ kind: 'count' });
  for (const socket of sockets) socket.disconnect();
  return {
    readsPerBatch: (after.reads - before.reads) / BATCHES,
    cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / BATCHES / SUBSCRIBERS,
  };
}

/** The bytes that the server holds for each client that has stopped reading. */
async function measureUnread(server: Server, ask: Ask): Promise<number> {
  const address = `${server.service.replace('http', 'ws')}${SOCKET_PATH}/?EIO=4&transport=websocket`;
  const sockets = await Promise.all(
    Array.from({ length: UNREAD_CLIENTS }, async () => {
      const socket = new WebSocket(address, { headers: { authorization: `Bearer ${server.token}` } });
      socket.once('message', () => socket.send('40'));
      await once(socket, 'message');
      await once(socket, 'message');
      return socket;
    }),
  );
  await sleep(1_000);
  const before = await ask({ kind: 'memory' });
  for (const socket of sockets) {
    socket.send(`42["${socketEvents.subscribe}",{"requestId":"${randomUUID()}","timestamp":0}]`);
    socket.pause();
  }
  await sleep(4_000);
  const after = await ask({ kind: 'memory' });
  for (const socket of sockets) socket.terminate();
  return (after.bytesHeld - before.bytesHeld) / UNREAD_CLIENTS;
}

async function connect({ service, token }: Server): Promise<Socket> {
  const socket = io(service, {
    path: SOCKET_PATH,
    transports: ['websocket'],
    forceNew: true,
    auth: { token, workgroupId: 'bench' },
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  return socket;
}
