import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { exportJWK, generateKeyPair } from 'jose';
import { onTestFinished } from 'vitest';
import { createRedisLeases } from '../../jobs/leases.ts';
import { openProcessTokens } from '../../src/access/process-token.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { announceWorker, createOwnerDirectory } from '../../src/worker-rpc/owner-directory.ts';
import { createRemoteControl } from '../../src/worker-rpc/remote-control.ts';
import { startRemoteServer } from '../../src/worker-rpc/remote-server.ts';
import { builtModule } from '../support/process-environment.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';

const workerChild =
  builtModule('remote-worker-child.js') ?? join(import.meta.dirname, 'remote-worker-child.ts');
export const LEASE_MS = 2_000;
export const HERE = 'this machine';

/** One Redis and one key file for processes with separate data folders, and a caller without any. */
export async function setUpMachines() {
  const folder = tempDir();
  const keyFile = await writeKeys(folder);
  const redisServer = await startRedis();
  onTestFinished(() => redisServer.stop());
  const { url } = redisServer;
  const admin = new Redis(url, { retryStrategy: () => 20 });
  admin.on('error', () => undefined);
  onTestFinished(() => admin.disconnect());
  const redis = await openRedisConnection({ url, logger: silentLogger });
  onTestFinished(() => redis.close());
  const directory = createOwnerDirectory(redis);
  const tokens = await openProcessTokens({ keyFile, issuer: 'wattline', clock: systemClock });
  const control = createRemoteControl({ directory, tokens, machine: HERE });

  /** A worker in a separate process. */
  async function startWorkerProcess(
    name: string,
    { isIdle = false, machine = HERE }: { isIdle?: boolean; machine?: string } = {},
  ) {
    const dataDir = join(folder, name);
    const options = { dataDir, keyFile, redisUrl: url, leaseMs: LEASE_MS, isIdle, machine };
    const child = fork(workerChild, [JSON.stringify(options)], { execArgv: [] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const operations: string[] = [];
    child.on('message', (operation: string) => operations.push(operation));
    const [text] = await once(child, 'message');
    return {
      dataDir,
      child,
      workerId: String(text).replace('worker ', ''),
      /** The operations that it has run. */
      ran: (operation: string) => operations.filter((one) => one === operation).length,
      async crash() {
        child.kill('SIGKILL');
        await once(child, 'exit');
      },
    };
  }

  /** A server in this process that owns acme, with operations that do what a test needs. */
  async function startOwner(run: Pipeline['run'], { leaseMs = 60_000 } = {}) {
    const workerId = randomUUID();
    const leases = createRedisLeases(admin, { workerId, leaseMs, prefix: 'wattline' });
    await leases.acquireOrRenew('acme');
    const server = await startRemoteServer({
      host: '127.0.0.1',
      port: 0,
      workerId,
      dataDir: join(folder, workerId),
      tokens,
      pipeline: { run },
      hasOpen: () => true,
      canWake: async () => false,
      clock: systemClock,
      logger: silentLogger,
    });
    onTestFinished(() => server.end());
    const address = { workerId, host: '127.0.0.1', port: server.port, machine: HERE };
    const withdraw = await announceWorker(redis, address, {
      leaseMs: LEASE_MS,
      startTimer: startSystemTimer,
      logger: silentLogger,
    });
    onTestFinished(withdraw);
    return { address, leases, dataDir: join(folder, workerId) };
  }

  return { folder, keyFile, admin, directory, tokens, control, startWorkerProcess, startOwner };
}

export async function writeKeys(folder: string): Promise<string> {
  const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const path = join(folder, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify({ keys: [await exportJWK(privateKey)] }));
  return path;
}
