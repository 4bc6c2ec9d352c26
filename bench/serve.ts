import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Database, open } from 'lmdb';
import { Client, type Dispatcher } from 'undici';
import { decodeCborSequence, encodeCbor } from '../src/contract/codec.ts';
import type { StreamMessage, TelemetryItem } from '../src/contract/messages.ts';
import { silentLog } from '../src/log.ts';
import { openLmdbLog } from '../src/stream/log-lmdb.ts';
import { systemClock } from '../src/time.ts';
import type { Ratio } from './decode.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

const MESSAGES = 10_000;
const ROUNDS = 60;
const ROUNDS_TO_WARM_UP = 15;

/**
 * Serves a batch of 10,000 stored messages of ten fields over loopback HTTP, against `node:http` sending a ready buffer
 * of the same size; appends such batches durably, against LMDB storing their bytes with nothing around it; and sends
 * them in over HTTP. In turns, so that a busy machine slows them all; prints lower quartiles and ratios.
 */
export async function benchServe(print: (line: string) => void): Promise<Ratio[]> {
  const serve = await measureServing();
  const append = await measureAppending();
  const table = { ...serve, ...append };
  for (const [name, ms] of Object.entries(table))
    print(
      `${name.padEnd(24)} ${ms.toFixed(1).padStart(6)} ms for ${MESSAGES} messages, ${Math.round(MESSAGES / ms)},000 a second`,
    );
  const ratios: Ratio[] = [
    { name: 'serving, of the speed of node:http', ratio: serve['node:http']! / serve.read!, ratioMin: 0.5 },
    { name: 'appending, of the speed of LMDB', ratio: append.LMDB! / append.append!, ratioMin: 0.5 },
  ];
  for (const { name, ratio, ratioMin } of ratios)
    print(`${name}: ${ratio.toFixed(2)} (at least ${ratioMin})`);
  return ratios;
}

async function measureServing(): Promise<Record<string, number>> {
  const worker = new Worker(new URL('./serve-worker.ts', import.meta.url));
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
  const ms = await quartilesOf({
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
    ingest: () =>
      callInto(buffer, service, {
        path: `${root}/messages`,
        method: 'POST',
        headers: as(server.token),
        body: items,
      }),
  });
  await Promise.all([service.close(), bare.close()]);
  worker.postMessage('stop');
  await once(worker, 'exit');
  return ms;
}

async function measureAppending(): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const log = openLmdbLog({
    path: join(folder, 'log'),
    clock: systemClock,
    retentionMs: 3_600_000,
    cacheBytesMax: 64e6,
    log: silentLog,
  });
  const environment = open({ path: join(folder, 'bare'), overlappingSync: false, mapSize: 16 * 1024 ** 3 });
  const bare: Database<Buffer, number> = environment.openDB('chunks', { encoding: 'binary' });
  const { batch } = telemetryBodies(1, MESSAGES)[0]!;
  const value = Buffer.from(batch.bytes);
  let key = 0;
  const ms = await quartilesOf({
    LMDB: () => bare.put(key++, value),
    append: () => log.append(batch),
  });
  await log.close();
  await environment.close();
  rmSync(folder, { recursive: true });
  return ms;
}

/** Sends a request and reads its body into a buffer that is used again and again: the cheapest client there is. */
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

async function quartilesOf(runs: Record<string, () => Promise<unknown>>): Promise<Record<string, number>> {
  const durations = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const started = performance.now();
      await run();
      if (round >= ROUNDS_TO_WARM_UP) durations.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries(
    [...durations].map(([name, each]) => [name, each.sort((a, b) => a - b)[ROUNDS >> 2]!]),
  );
}
