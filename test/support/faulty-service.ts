import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BucketServices, startBucketServices, statusOf } from './bucket-services.ts';
import { knownWorkgroups } from './known-energy.ts';
import { type Fate, startLossyProxy } from './lossy-proxy.ts';
import { seededRandom } from './seeded-random.ts';
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
  'redis-stopped',
  'stream-killed',
  'all-killed',
] as const;
export type Fault = (typeof FAULTS)[number];

/**
 * A whole service: a stream, two workers and reports, each on a separate machine, with a bucket behind a
 * proxy.
 */
export interface FaultyService extends Pick<BucketServices, 'redis' | 'store' | 'head' | 'untilStored'> {
  stream: ServiceProcess;
  reports: ServiceProcess;
  workers: ServiceProcess[];
  /** The worker with the newest commit of the bucket. Waits until a worker owns the workgroup. */
  owner(): Promise<ServiceProcess>;
  /**
   * Makes a fault and ends it. When it returns, killed workers run again. The fault must end no other
   * process.
   */
  make(fault: Fault): Promise<void>;
}

/** How long the bucket is down. Several commits fail in this time. */
const DOWN_MS = 3_000;
/** Longer than the lease of a worker. */
const HANGING_MS = 12_000;
/** A worker that hangs is replaced after its lease. The others then restore the warehouse. */
const TAKEN_MS_MAX = 120_000;
/** A request that hangs takes half a minute, so the usual loss has none. */
const LOSSES: Fate[] = ['lose', 'drop-answer', 'late', 'status-after'];
const FATES: Fate[] = [...LOSSES, 'hang'];

/**
 * @param seed chooses what happens to requests
 * @param lossShare the share of the requests to the bucket that are lost or answered wrongly all the time.
 *   Default: 0
 */
export async function startFaultyService(seed: number, lossShare = 0): Promise<FaultyService> {
  const random = seededRandom(seed);
  const oneOf = (fates: readonly Fate[]) => fates[Math.floor(random() * fates.length)]!;
  const usual = (): Fate => (random() < lossShare ? oneOf(LOSSES) : 'pass');
  let fateOf = usual;
  const services = await startBucketServices(({ endpoint }) => startLossyProxy(endpoint, () => fateOf()), {
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
        requireRunning();
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
  const requireRunning = () => {
    for (const worker of workers) worker.requireRunning();
  };
  const epoch = async () => BigInt((await head())?.ownerEpoch ?? 0);

  async function isClaimed(after: bigint): Promise<void> {
    await until(
      'another worker has claimed the workgroup',
      async () => {
        requireRunning();
        return (await epoch()) > after;
      },
      TAKEN_MS_MAX,
    );
  }

  /** Decides for some seconds what happens to each request. */
  async function withFates(choose: () => Fate): Promise<void> {
    fateOf = choose;
    await sleep(DOWN_MS);
    fateOf = usual;
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
    'answers-lost': () => withFates(() => (random() < 0.3 ? oneOf(FATES) : 'pass')),
    'bucket-down': () => withFates(() => 'lose'),
    'redis-restarted': () => redis.restart({ downMs: 1_000 }),
    async 'redis-stopped'() {
      process.kill(redis.pid, 'SIGSTOP');
      try {
        await sleep(HANGING_MS);
      } finally {
        process.kill(redis.pid, 'SIGCONT');
      }
    },
    async 'stream-killed'() {
      await stream.kill();
      await stream.start();
    },
    async 'all-killed'() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await Promise.all(workers.map(start));
    },
  };
  return { ...services, stream, reports, workers, owner, make: (fault) => make[fault]() };
}
