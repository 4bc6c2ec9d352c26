import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ensureKeys } from '../../src/access/keys.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { startRedis, type TestRedis } from './redis.ts';
import type { CliResult } from './run-cli.ts';
import { runCommand } from './run-command.ts';
import { s3ForTests } from './s3-for-tests.ts';
import { tempDir } from './temp-dir.ts';
import { createUpProcess, type ProcessRole, type ServiceProcess } from './up-process.ts';

/** A process of a service with a separate data folder, as on another machine. */
export interface Machine extends ServiceProcess {
  /** Runs a command with the configuration of this machine. */
  run(...args: string[]): Promise<CliResult>;
}

/** Machines that share one Redis and one key file, and a bucket if it is asked for. */
export interface Machines {
  redis: TestRedis;
  keyFile: string;
  /** Not started yet. Ended when the test has finished. */
  add(name: string, role: ProcessRole, more?: ConfigInput): Promise<Machine>;
}

export async function setUpMachines(
  config: ConfigInput,
  { hasBucket = false }: { hasBucket?: boolean } = {},
): Promise<Machines> {
  const folder = tempDir();
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const keyFile = join(folder, 'keys', 'keys.json');
  await ensureKeys(keyFile);
  // The tests without a bucket start no second worker on a workgroup that has data.
  const storage: ConfigInput['storage'] = hasBucket
    ? { s3: await s3Settings(), commitEvery: '1s' }
    : { shared: true };
  return {
    redis,
    keyFile,
    async add(name, role, more = {}) {
      const cwd = join(folder, name);
      mkdirSync(cwd);
      const machine = await createUpProcess(
        cwd,
        {
          stream: { log: 'redis' },
          queue: { backend: 'redis', redisUrl: redis.url },
          storage,
          access: { jwksFile: keyFile },
          ...config,
          ...more,
        },
        role,
      );
      onTestFinished(machine.kill);
      return { ...machine, run: (...args) => runCommand(args, { cwd }) };
    },
  };
}

async function s3Settings() {
  const { timeouts: _, ...settings } = await s3ForTests();
  return settings;
}
