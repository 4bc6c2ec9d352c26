import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { ensureKeys } from '../../src/access/keys.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { readStatus, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';
import { type ReplicaCommit, readReplicaHead } from '../../src/replica/replica-commit.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import type { S3Settings } from '../../src/storage/s3-store.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { startRedis, type TestRedis } from './redis.ts';
import { openTestRedisLog } from './redis-log.ts';
import { s3ForTests } from './s3-for-tests.ts';
import { createServiceProcess, type ServiceProcess } from './service-process.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import type { ProcessRole } from './up-process.ts';

export const DEVICE = '00000000-0000-4000-8000-000000000001';
export const HOME = 'home';

/** Machines with separate data folders, that share a Redis and a bucket. */
export interface BucketServices {
  redis: TestRedis;
  s3: S3Settings;
  /** The place of a workgroup in the bucket, without a proxy. */
  store: ObjectStore;
  create(input?: ConfigInput, role?: ProcessRole): Promise<ServiceProcess>;
  head(): Promise<ReplicaCommit | undefined>;
  /**
   * Waits until the newest commit of the bucket has this many messages.
   * @throws Error that says how many it has after a minute
   */
  untilStored(messages: number): Promise<void>;
  /** Deletes the messages of the stream, as if its retention were over. */
  forgetStream(): Promise<void>;
  /** Ends the lease of a lost machine, as if its time were over. */
  forgetLease(): Promise<void>;
}

const workgroups: ConfigInput['workgroups'] = [
  {
    id: HOME,
    energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
  },
];
export const quickPipeline = { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms' };
/** A machine without a bucket. */
export const plainConfig: ConfigInput = { pipeline: quickPipeline, workgroups };

/** @param endpointOf changes the address of the bucket that the machines use, for a proxy */
export async function startBucketServices(
  endpointOf: (s3: S3Settings) => Promise<string> = async ({ endpoint }) => endpoint,
  redisSettings?: Readonly<Record<string, string>>,
): Promise<BucketServices> {
  const redis = await startRedis(redisSettings);
  onTestFinished(() => redis.stop());
  const s3 = await s3ForTests();
  const jwksFile = join(tempDir(), 'keys.json');
  await ensureKeys(jwksFile);
  const endpoint = await endpointOf(s3);
  const { timeouts: _, ...settings } = s3;
  const store = workgroupStore({ s3 }, HOME)!;
  const head = () => readReplicaHead(store);
  return {
    redis,
    s3,
    store,
    create: (input = {}, role) =>
      createServiceProcess(
        {
          stream: { log: 'redis', ...input.stream },
          queue: { backend: 'redis', redisUrl: redis.url },
          access: { jwksFile },
          storage: { s3: { ...settings, endpoint }, commitEvery: '1s', ...input.storage },
          pipeline: { ...quickPipeline, ...input.pipeline },
          workgroups: input.workgroups ?? workgroups,
          ...(input.exports && { exports: input.exports }),
          ...(input.http && { http: input.http }),
        },
        role,
      ),
    head,
    async untilStored(messages) {
      let found: number | undefined;
      const isStored = async () => {
        found = (await head())?.totals.messages;
        return found === messages;
      };
      await until(`the bucket has ${messages} messages`, isStored).catch((error: Error) => {
        throw new Error(`${error.message}; it has ${found}`);
      });
    },
    async forgetStream() {
      const { log } = await openTestRedisLog(redis.url, { workgroupId: HOME, retentionMs: 1 });
      await log.trim();
      await log.close();
    },
    async forgetLease() {
      const client = new Redis(redis.url);
      expect(await client.del(`wattline:lease:${HOME}`)).toBe(1);
      client.disconnect();
    },
  };
}

const DAY_MS = 86_400_000;
/** The first of the three days of the readings. It is computed once, because a test may run over midnight. */
const FIRST_DAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS;
/** The number of readings of `readings`. */
export const READINGS = 4 * 24 * 3;

/** Readings of a register of three days, one each quarter of an hour: those from `first` to before `end`. */
export function readings(first: number, end: number): Reading[] {
  return Array.from({ length: end - first }, (_, index) => {
    const at = first + index;
    return { atMs: FIRST_DAY_MS + at * 900_000, totalWh: 10 * at + (at % 7) };
  });
}

/**
 * The energy of each day of the readings: the growth of the register from one midnight to the next one, or to
 * the last reading.
 */
export const KNOWN_WH: readonly number[] = [965, 958, 947];

/** The energy of each day of the readings, from a report. */
export async function reportedWh(service: Pick<ServiceProcess, 'url' | 'token'>): Promise<number[]> {
  const report = JSON.stringify(await dailyEnergy(service));
  return [...report.matchAll(/"energyWh":(\d+)/g)].map(([, energy]) => Number(energy));
}

export interface Reading {
  atMs: number;
  totalWh: number;
}

export async function sendReadings(
  { url, token }: Pick<ServiceProcess, 'url' | 'token'>,
  sent: readonly Reading[],
): Promise<void> {
  const messages = sent.map(({ atMs, totalWh }) => ({
    device: DEVICE,
    source: 'pv',
    event_time: atMs,
    data: { total_wh: totalWh },
  }));
  const answer = await fetch(`${url}/api/v1/tables/${HOME}/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(messages),
  });
  expect(answer.status, answer.ok ? '' : await answer.text()).toBe(200);
}

/** The days of the readings in a report, without the time and number of their computations. */
export async function dailyEnergy({ url, token }: Pick<ServiceProcess, 'url' | 'token'>): Promise<unknown> {
  const [startDate, endDate] = [0, 2].map((days) =>
    new Date(FIRST_DAY_MS + days * DAY_MS).toISOString().slice(0, 10),
  );
  const query = `startDate=${startDate}&endDate=${endDate}`;
  const answer = await fetch(`${url}/api/v1/orgs/${HOME}/daily-energy/details?${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await answer.text();
  if (answer.status !== 200) return { status: answer.status, text };
  return JSON.parse(text, (key, value) => (['version', 'computedAt'].includes(key) ? undefined : value));
}

export function statusOf({ config }: ServiceProcess): WorkgroupStatus | undefined {
  return readStatus(config.dataDir, HOME);
}
