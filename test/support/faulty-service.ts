import { rmSync } from 'node:fs';
import { type BucketServices, startBucketServices, statusOf } from './bucket-services.ts';
import { knownWorkgroups } from './known-energy.ts';
import { type Fate, startLossyProxy } from './lossy-proxy.ts';
import type { ServiceProcess } from './service-process.ts';
import { until } from './until.ts';

/** What can go wrong in a service of several machines. */
export const FAULTS = [
  'killed',
  'disk-lost',
  'stopped',
  'ended',
  'answers-lost',
  'bucket-down',
  'redis-restarted',
  'all-killed',
] as const;
export type Fault = (typeof FAULTS)[number];

/** A whole service: a stream, two workers and reports, each on a machine of its own, with a bucket behind a proxy. */
export interface FaultyService extends Pick<BucketServices, 'redis' | 'store' | 'head'> {
  stream: ServiceProcess;
  reports: ServiceProcess;
  workers: ServiceProcess[];
  /** The worker whose newest commit is the newest one of the bucket. Waits until a worker owns the workgroup. */
  owner(): Promise<ServiceProcess>;
  /** Makes a fault and ends it. Killed workers run again when it returns. */
  make(fault: Fault): Promise<void>;
}

/** Time for the bucket to be down, which several commits meet. */
const DOWN_MS = 3_000;
/** A worker that hangs is replaced after its lease. The others then restore the warehouse. */
const TAKEN_MS_MAX = 120_000;
const FATES: Fate[] = ['lose', 'drop-answer', 'late', 'status-after', 'hang'];

export async function startFaultyService(random: () => number): Promise<FaultyService> {
  let fateOf: () => Fate = () => 'pass';
  const services = await startBucketServices((endpoint) => startLossyProxy(endpoint, () => fateOf()), {
    // The stream is in Redis.
    appendonly: 'yes',
    appendfsync: 'always',
  });
  const { redis, head } = services;
  const input = { workgroups: knownWorkgroups };
  const stream = await services.create(input, 'stream');
  const reports = await services.create(input, 'report');
  // Workers read the stream of the other machine.
  const atStream = { ...input, http: { streamPort: stream.config.http.port } };
  const workers = [await services.create(atStream, 'worker'), await services.create(atStream, 'worker')];
  await Promise.all([stream, reports, ...workers].map((one) => one.start()));

  /** A status that was written before the start of its worker is not true any more. */
  const startedAtMs = new Map<ServiceProcess, number>();
  async function start(worker: ServiceProcess): Promise<void> {
    startedAtMs.set(worker, Date.now());
    await worker.start();
  }
  async function owner(): Promise<ServiceProcess> {
    let found: ServiceProcess | undefined;
    await until(
      'a worker owns the workgroup',
      async () => {
        const sequence = (await head())?.sequence;
        found = workers.find((worker) => {
          const status = statusOf(worker);
          const isNew = (status?.updatedAtMs ?? 0) > (startedAtMs.get(worker) ?? 0);
          return isNew && sequence !== undefined && status?.bucket?.sequence === sequence;
        });
        return found !== undefined;
      },
      TAKEN_MS_MAX,
    );
    return found!;
  }
  const epoch = async () => BigInt((await head())?.ownerEpoch ?? 0);

  async function isClaimed(after: bigint): Promise<void> {
    await until(
      'another worker has claimed the workgroup',
      async () => (await epoch()) > after,
      TAKEN_MS_MAX,
    );
  }

  /** Chooses the fate of requests for some seconds. */
  async function withFates(choose: () => Fate): Promise<void> {
    fateOf = choose;
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, DOWN_MS);
    await promise;
    fateOf = () => 'pass';
  }

  const make: Record<Fault, () => Promise<void>> = {
    async killed() {
      const killed = await owner();
      await killed.kill();
      await start(killed);
    },
    async 'disk-lost'() {
      const lost = await owner();
      await lost.kill();
      rmSync(lost.config.dataDir, { recursive: true });
      await start(lost);
    },
    async stopped() {
      const stopped = await owner();
      const before = await epoch();
      process.kill(stopped.processId!, 'SIGSTOP');
      try {
        await isClaimed(before);
      } finally {
        process.kill(stopped.processId!, 'SIGCONT');
      }
    },
    async ended() {
      const ended = await owner();
      await ended.stop();
      await start(ended);
    },
    'answers-lost': () =>
      withFates(() => (random() < 0.3 ? FATES[Math.floor(random() * FATES.length)]! : 'pass')),
    'bucket-down': () => withFates(() => 'lose'),
    'redis-restarted': () => redis.restart({ downMs: 1_000 }),
    async 'all-killed'() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await Promise.all(workers.map(start));
    },
  };
  return { ...services, stream, reports, workers, owner, make: (fault) => make[fault]() };
}

/** Numbers from 0 to below 1, the same for a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
