import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';

/** A real Redis server in a separate folder. It stores nothing on the disk unless its settings say so. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** The folder of the server's data. */
  readonly directory: string;
  readonly pid: number;
  /**
   * Ends the server at once, like a crash. Then starts it on the same port with the data that it has stored.
   */
  restart(options?: { downMs?: number; whileDown?: () => Promise<void> }): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server on a free port. WATTLINE_TEST_REDIS_SERVER may name the binary. */
export async function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'wattline-redis-'));
  const port = await freePort();
  let server = await startServer(port, directory, settings);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    directory,
    get pid() {
      return server.pid!;
    },
    async restart({ downMs = 0, whileDown } = {}) {
      await kill(server);
      await whileDown?.();
      await sleep(downMs);
      server = await startServer(port, directory, settings);
    },
    async stop() {
      await kill(server);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a sentinel that watches a server under the name `mymaster`, and lets a replica take over half a
 * second after that server has ended.
 */
export async function startSentinel(
  masterPort: number,
  more: readonly string[] = [],
): Promise<Pick<TestRedis, 'port' | 'stop'>> {
  const directory = await mkdtemp(join(tmpdir(), 'wattline-sentinel-'));
  const port = await freePort();
  const settings = join(directory, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`,
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 2000',
    ...more,
  ];
  await writeFile(settings, lines.join('\n'));
  const sentinel = spawn(process.env.WATTLINE_TEST_REDIS_SERVER ?? 'redis-server', [settings, '--sentinel'], {
    stdio: 'ignore',
  });
  await answers(port);
  return {
    port,
    async stop() {
      await kill(sentinel);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function startServer(
  port: number,
  directory: string,
  given: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const binary = process.env.WATTLINE_TEST_REDIS_SERVER ?? 'redis-server';
  const settings = {
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    ...given,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
  const server = spawn(binary, ['--port', String(port), ...options], { stdio: 'ignore' });
  const failed = new Promise<never>((_, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`${binary} ended with ${code}`)));
  });
  failed.catch(() => undefined);
  await Promise.race([answers(port), failed]);
  return server;
}

async function answers(port: number): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  try {
    // A server that needs a password also answers, with an error.
    await redis.ping().catch((error) => {
      if (!/NOAUTH/.test(String(error))) throw error;
    });
  } finally {
    redis.disconnect();
  }
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await ended;
}
