import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ensureKeys } from '../../src/access/keys.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { startRedis, type TestRedis } from './redis.ts';
import { runCli } from './run-cli.ts';
import { tempDir } from './temp-dir.ts';
import { createUpProcess, type ProcessRole, type ServiceProcess } from './up-process.ts';

/** A process of a service with a data folder of its own, as on a machine of its own. */
export interface Machine extends ServiceProcess {
  /** Runs a command with the configuration of this machine. */
  run(...args: string[]): ReturnType<typeof runCli>;
}

/** Machines that share one Redis and one key file, and nothing else. */
export interface Machines {
  redis: TestRedis;
  keyFile: string;
  /** Not started yet. Ended when the test has finished. */
  add(name: string, role: ProcessRole, more?: ConfigInput): Promise<Machine>;
}

export async function setUpMachines(config: ConfigInput): Promise<Machines> {
  const folder = tempDir();
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const keyFile = join(folder, 'keys', 'keys.json');
  await ensureKeys(keyFile);
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
          // The folders differ. The tests start no second worker on a workgroup that has data.
          storage: { shared: true },
          access: { jwksFile: keyFile },
          ...config,
          ...more,
        },
        role,
      );
      onTestFinished(machine.kill);
      return { ...machine, run: (...args) => runCli(args, { cwd }) };
    },
  };
}
