import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { createAccess } from '../src/access/access.ts';
import { permissions } from '../src/access/grant.ts';
import { type Config, type ConfigInput, loadConfig } from '../src/config.ts';
import { DAY_MS, systemClock } from '../src/time.ts';

/** `wattline up` as a process of its own, in a folder that is removed with it. */
export interface UpProcess {
  url: string;
  token: string;
  config: Config;
  processId: number;
  end(): Promise<void>;
}

export async function startUp(input: ConfigInput, port: number): Promise<UpProcess> {
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    stringify({ ...input, http: { port, requestsPerMinuteMax: 1_000_000 } }),
  );
  const config = loadConfig({ cwd, environment: {} });
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  const scopes = Object.fromEntries(
    config.workgroups.map(({ id }) => [id, { permissions: [...permissions] }]),
  );
  const { token } = await access.issue({ subject: 'bench', scopes, lifetimeMs: DAY_MS });
  const cli = join(import.meta.dirname, '..', 'src', 'cli.ts');
  const child: ChildProcess = spawn(process.execPath, [cli, 'up', '--log-level', 'error'], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let isUp = false; !isUp; ) {
    if (child.exitCode !== null) throw new Error(`wattline up ended with ${child.exitCode}`);
    await sleep(50);
    isUp = await fetch(`${url}/health`).then(
      (answer) => answer.ok,
      () => false,
    );
  }
  return {
    url,
    token,
    config,
    processId: child.pid!,
    async end() {
      child.kill('SIGTERM');
      await exited;
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}
