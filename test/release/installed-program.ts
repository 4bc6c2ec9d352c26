import { spawn } from 'node:child_process';
import { expect, onTestFinished } from 'vitest';
import { until } from '../support/until.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** A service of a package that runs. */
export interface InstalledService {
  readonly processId: number;
  /** Waits until it answers. @throws Error with its last words if it ends by itself */
  untilReady(): Promise<void>;
  /** Asks it to end. The process kills itself if that takes 20 s, so code 0 means that it was faster. */
  stop(): Promise<number | null>;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  errorText(): string;
}

/** Starts a command of a package that serves `url`. It is killed when the test has finished. */
export function startInstalled(
  url: string,
  command: readonly string[],
  options: { cwd: string; environment: Record<string, string> },
): InstalledService {
  const [file, ...args] = command;
  const child = spawn(file!, args, {
    cwd: options.cwd,
    env: options.environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    processId: child.pid!,
    async untilReady() {
      await until(`${url} is ready`, async () => {
        if (child.exitCode !== null) throw new Error(`it has ended by itself (${child.exitCode}): ${errors}`);
        return fetch(`${url}/ready`).then(
          (answer) => answer.ok,
          () => false,
        );
      });
    },
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
    ended,
    errorText: () => errors,
  };
}

/** The configuration of the workgroup that `proveService` asks for. */
export const PROVED_WORKGROUPS = [
  {
    id: 'home',
    timezone: 'Etc/UTC',
    energyStreams: [
      { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
    ],
  },
];

/**
 * Proves that a service works as a whole: its page, its health, and the way of two readings to the energy of
 * a day.
 * @param reportUrl where reports are asked, if it is another process
 */
export async function proveService(url: string, token: string, reportUrl = url): Promise<void> {
  const ask = async (path: string) => {
    const answer = await fetch(`${reportUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, text: await answer.text() };
  };
  expect(await ask('/health')).toMatchObject({ status: 200 });
  expect(await ask('/')).toEqual({ status: 200, text: expect.stringContaining('<title>') });
  const sent = await fetch(`${url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(
      [0, 6].map((hours) => ({
        device: DEVICE,
        event_time: Date.parse('2026-05-17T00:00:00Z') + hours * 3_600_000,
        data: { total_wh: 1_000 + hours * 100 },
      })),
    ),
  });
  expect([sent.status, sent.ok ? '' : await sent.text()]).toEqual([200, '']);
  const report = '/api/v1/orgs/home/daily-energy?startDate=2026-05-17&endDate=2026-05-17';
  await until('the energy is reported', async () => (await ask(report)).text.includes('600'), 120_000);
  expect(JSON.parse((await ask(report)).text)).toEqual({ '2026-05-17': { [DEVICE]: 600 } });
}
