import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Client, type Dispatcher } from 'undici';
import { encodeCbor } from '../src/cbor/cbor-codec.ts';
import type { StreamMessage, TelemetryItem } from '../src/contract/messages.ts';
import { decodeCborSequence } from '../test/support/decode-cbor-sequence.ts';
import { startRedis } from '../test/support/redis.ts';
import { measureAppending } from './append.ts';
import type { Ratio } from './decode.ts';
import type { BenchLog } from './logs.ts';
import { quartilesOf } from './quartiles.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

const MESSAGES = 10_000;
/** A read takes a millisecond or two. So few rounds would measure code that is not compiled yet. */
const READ_ROUNDS = 800;

/**
 * Serves a batch of 10,000 stored messages of ten fields over loopback HTTP, for each kind of log. A
 * `node:http` server that sends a ready buffer of the same size is the comparison. Then sends such batches in
 * over HTTP, and appends them without HTTP (see `measureAppending`). All take turns, so that a busy machine
 * slows them all. Prints lower quartiles and ratios.
 */
export async function benchServe(print: (line: string) => void): Promise<Ratio[]> {
  const redis = await startRedis({ appendonly: 'yes', appendfsync: 'always' });
  const ratios: Ratio[] = [];
  try {
    for (const which of [{ kind: 'lmdb' }, { kind: 'memory' }, { kind: 'redis', url: redis.url }] as const) {
      const ms = await measureServing(which);
      printTable(print, `${which.kind}: `, ms);
      ratios.push({
        name: `serving from ${which.kind}, of the speed of node:http`,
        ratio: ms['node:http']! / ms.read!,
        ratioMin: which.kind === 'redis' ? 0.5 : 0.55,
      });
    }
    const append = await measureAppending(redis.url);
    printTable(print, 'append, ', append);
    ratios.push({
      name: 'appending to lmdb, of the speed of bare LMDB',
      ratio: append['bare LMDB']! / append.lmdb!,
      ratioMin: 0.75,
    });
  } finally {
    await redis.stop();
  }
  for (const { name, ratio, ratioMin } of ratios)
    print(`${name}: ${ratio.toFixed(2)} (at least ${ratioMin})`);
  return ratios;
}

function printTable(print: (line: string) => void, prefix: string, table: Record<string, number>): void {
  for (const [name, ms] of Object.entries(table))
    print(
      `${(prefix + name).padEnd(32)} ${ms.toFixed(1).padStart(6)} ms for ${MESSAGES} messages, ${Math.round(MESSAGES / ms)},000 a second`,
    );
}

async function measureServing(which: BenchLog): Promise<Record<string, number>> {
  const worker = new Worker(new URL('./serve-worker.ts', import.meta.url), { workerData: which });
  const [server] = (await once(worker, 'message')) as [
    { service: string; bare: string; token: string; restrictedToken: string; bytes: number },
  ];
  const service = new Client(server.service);
  const bare = new Client(server.bare);
  const root = '/api/v1/tables/bench/solar';
  const { batch } = telemetryBodies(1, MESSAGES)[0]!;
  const buffer = Buffer.alloc(server.bytes + 65_536);
  const items = encodeCbor(
    decodeCborSequence(batch.bytes).map((message) => itemOf(message as TelemetryMessage)),
  );
  const as = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/cbor' });
  const reads = {
    'node:http': () => callInto(buffer, bare, { path: '/', method: 'GET' }),
    read: () =>
      callInto(buffer, service, {
        path: `${root}/latest?limit=${MESSAGES}`,
        method: 'GET',
        headers: as(server.token),
      }),
    'read, half the devices': () =>
      callInto(buffer, service, {
        path: `${root}/latest?limit=${MESSAGES / 2}`,
        method: 'GET',
        headers: as(server.restrictedToken),
      }),
  };
  const ingest = {
    ingest: () =>
      callInto(buffer, service, {
        path: `${root}/messages`,
        method: 'POST',
        headers: as(server.token),
        body: items,
      }),
  };
  const ms = { ...(await quartilesOf(reads, READ_ROUNDS)), ...(await quartilesOf(ingest)) };
  await Promise.all([service.close(), bare.close()]);
  worker.postMessage('stop');
  await once(worker, 'exit');
  return ms;
}

/**
 * Sends a request, and reads the body of the answer into one buffer that all requests use. No client costs
 * less.
 */
function callInto(buffer: Buffer, client: Client, request: Dispatcher.DispatchOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    let length = 0;
    let status = 0;
    client.dispatch(request, {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, statusCode) => {
        status = statusCode;
      },
      onResponseData: (_controller, chunk) => {
        chunk.copy(buffer, length);
        length += chunk.length;
      },
      onResponseEnd: () => (status === 200 ? resolve() : reject(new Error(`answered ${status}`))),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

type TelemetryMessage = StreamMessage & { kind: 'telemetry' };

function itemOf({ device, source, event_time, data }: TelemetryMessage): TelemetryItem {
  return { device, source, event_time, data };
}
