import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { LEASE_MS } from '../jobs/leases.ts';
import { ensureKeys } from '../src/access/keys.ts';
import type { ConfigInput } from '../src/config/config.ts';
import type { S3Settings } from '../src/storage/s3-store.ts';
import { radosgwPackages, startRadosgw, stopRadosgw } from '../test/support/radosgw.ts';
import { startRedis } from '../test/support/redis.ts';
import { createBucket } from '../test/support/s3-for-tests.ts';
import { until } from '../test/support/until.ts';
import { createUpProcess, type ProcessRole, type ServiceProcess } from '../test/support/up-process.ts';

export const BUCKET_WORKGROUP = 'site';

/** Machines with separate data folders, one Redis and one bucket. */
export interface BucketMachines {
  /** The bucket without a proxy. */
  s3: S3Settings;
  /** A process on a machine with an empty disk, started. */
  add(role: ProcessRole): Promise<ServiceProcess>;
  /** A machine with a process that is not started. */
  create(role: ProcessRole): Promise<ServiceProcess>;
  /** Waits until this number of workers lives. */
  hasWorkers(count: number): Promise<void>;
  end(): Promise<void>;
}

/**
 * @param endpointOf changes the address of the bucket that the machines use, for a proxy
 * @param commitEvery `storage.commitEvery`
 * @throws Error if there is no S3 server on this machine, see docs/testing.md
 */
export async function startBucketMachines(
  endpointOf: (endpoint: string) => Promise<string> = async (endpoint) => endpoint,
  commitEvery = '5s',
): Promise<BucketMachines> {
  const packages = radosgwPackages();
  if (!packages) throw new Error('no S3 server: npm test fetches radosgw on Debian and Ubuntu');
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const gateway = join(folder, 'radosgw');
  mkdirSync(gateway);
  const redis = await startRedis();
  const access = await startRadosgw(packages, gateway);
  const s3 = {
    ...access,
    region: 'us-east-1',
    bucket: 'bench',
    prefix: 'live/',
    addressing: 'path' as const,
  };
  await createBucket(s3);
  const endpoint = await endpointOf(s3.endpoint);
  const jwksFile = join(folder, 'keys.json');
  await ensureKeys(jwksFile);
  const client = new Redis(redis.url);
  const machines: ServiceProcess[] = [];
  const config: ConfigInput = {
    stream: { log: 'redis' },
    queue: { backend: 'redis', redisUrl: redis.url },
    access: { jwksFile },
    storage: { s3: { ...s3, endpoint }, commitEvery },
    workgroups: [
      {
        id: BUCKET_WORKGROUP,
        energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
  };

  async function create(role: ProcessRole): Promise<ServiceProcess> {
    const cwd = mkdtempSync(join(folder, `${role}-`));
    const machine = await createUpProcess(cwd, config, role);
    machines.push(machine);
    return machine;
  }

  /** A worker that was killed stays in the set, with the time of its last round by the clock of Redis. */
  async function livingWorkers(): Promise<number> {
    const [seconds] = await client.time();
    return client.zcount('wattline:workers', Number(seconds) * 1_000 - LEASE_MS, '+inf');
  }

  return {
    s3,
    create,
    async add(role) {
      const machine = await create(role);
      await machine.start();
      return machine;
    },
    hasWorkers: (count) =>
      until(`${count} workers live`, async () => (await livingWorkers()) === count, 5 * LEASE_MS),
    async end() {
      for (const machine of machines) await machine.kill();
      for (const machine of machines) process.stderr.write(machine.errorText());
      client.disconnect();
      await redis.stop();
      await stopRadosgw(gateway);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
