import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createAccess } from '../../src/access/access.ts';
import { permissions } from '../../src/access/grant.ts';
import type { Config, ConfigInput } from '../../src/config/config.ts';
import { DAY_MS, systemClock } from '../../src/lib/time.ts';
import { freePort } from './free-port.ts';
import { loadConfig } from './load-config.ts';
import { cliFile, nodeOptions, processEnvironment } from './process-environment.ts';
import { until } from './until.ts';

/**
 * `wattline up`, or one role alone, as a process for tests and benchmarks. Its folder and its port stay the
 * same when it is started again.
 */
export interface ServiceProcess {
  /** Its address. A worker alone has none. */
  readonly url: string;
  readonly config: Config;
  /** A token with all permissions in every workgroup. */
  readonly token: string;
  /** Undefined while it does not run. */
  readonly processId: number | undefined;
  /** Starts the process, and waits until it answers. Does not wait for a worker alone. */
  start(): Promise<void>;
  /** Ends the process at once, like a power cut. */
  kill(): Promise<void>;
  /** Asks it to end. @returns its exit code */
  stop(): Promise<number | null>;
  /** Undefined while it runs. Null if a signal has ended it. */
  exitCode(): number | null | undefined;
  /** @throws Error with its last words if it has ended by itself */
  requireRunning(): void;
  /** The text that it has written to standard error. */
  errorText(): string;
}

export type ProcessRole = 'up' | 'stream' | 'worker' | 'report';

/**
 * Tests read the views right after a publication, so the views are renewed often. With few rows a second
 * thread costs a fifth more CPU time, so there is one. Benchmarks measure the defaults, and processes that
 * bound their allocator and keep their compiled code by themselves.
 */
const isTest = process.env.VITEST !== undefined;
const testPipeline = isTest ? { currentEvery: '200ms', warehouseThreads: 1 } : {};
const usualEnvironment = isTest
  ? {}
  : { MALLOC_ARENA_MAX: undefined, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME };

/**
 * A service with this configuration in the folder `cwd`, not started yet.
 * @param program the file that Node runs
 */
export async function createUpProcess(
  cwd: string,
  input: ConfigInput,
  role: ProcessRole = 'up',
  environment: Record<string, string | undefined> = {},
  program = cliFile,
): Promise<ServiceProcess> {
  const port = await freePort();
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    stringify({
      ...input,
      pipeline: { ...testPipeline, ...input.pipeline },
      http: { port, streamPort: port, reportPort: port, ...input.http },
      limits: { requestsPerMinute: 1_000_000 },
    }),
  );
  const config = loadConfig({ cwd, environment: {} });
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  const scopes = Object.fromEntries(
    config.workgroups.map(({ id }) => [id, { permissions: [...permissions] }]),
  );
  // A token that is not listed leaves no audit entry among the messages that tests count.
  const { token } = await access.issue({ subject: 'test', scopes, lifetimeMs: DAY_MS }, { unlisted: true });
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let exited: Promise<number | null> | undefined;
  let errors = '';

  const exitCode = () =>
    child && child.exitCode === null && child.signalCode === null ? undefined : child?.exitCode;
  function requireRunning(): void {
    const code = exitCode();
    if (child && code !== undefined) throw new Error(`the ${role} has ended by itself (${code}): ${errors}`);
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    child?.kill(signal);
    const code = await exited;
    child = undefined;
    return code ?? null;
  }
  return {
    url,
    config,
    token,
    get processId() {
      return child?.pid;
    },
    async start() {
      const started = spawn(process.execPath, [...nodeOptions, program, role, '--log-level', 'warn'], {
        cwd,
        env: processEnvironment({ ...usualEnvironment, ...environment }),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child = started;
      started.stderr.on('data', (chunk) => {
        errors += chunk;
      });
      exited = new Promise((resolve) => started.once('exit', resolve));
      if (role === 'worker') return;
      await until('the service answers', async () => {
        requireRunning();
        return fetch(`${url}/health`).then(
          (answer) => answer.ok,
          () => false,
        );
      });
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    exitCode,
    requireRunning,
    errorText: () => errors,
  };
}
