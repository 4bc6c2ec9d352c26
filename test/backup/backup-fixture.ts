import { mkdirSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import type { ConfigInput } from '../../src/config/config.ts';
import type { S3Settings } from '../../src/storage/s3-store.ts';
import type { CliResult } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';

const DEVICES = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
const DAY = '2026-01-05';
const STEP_MS = 60_000;

export const configuration: ConfigInput = {
  logLevel: 'warn',
  stream: { retention: '1h' },
  pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms', maintainEvery: '1s' },
  workgroups: [
    {
      id: 'home',
      energyStreams: [
        { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
      ],
    },
  ],
};

/** A site. Its registers count a Wh for each message. */
export interface Site {
  service: ServiceProcess;
  cwd: string;
  /**
   * Sends the next readings of each device, and waits until the report has their energy.
   * @returns the report of the days
   */
  grow(readings: number): Promise<unknown>;
  report(): Promise<unknown>;
  run(...args: string[]): Promise<CliResult>;
}

/** A site. Its service is killed when the test has finished. */
export async function siteFor(
  cwd: string,
  { sent = 0, s3 }: { sent?: number; s3?: S3Settings | undefined } = {},
): Promise<Site> {
  mkdirSync(cwd, { recursive: true });
  const service = await createUpProcess(cwd, configuration);
  onTestFinished(service.kill);
  const environment = s3 && {
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    AWS_REGION: s3.region,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
  };
  let next = sent;
  const headers = () => ({ authorization: `Bearer ${service.token}`, 'content-type': 'application/json' });
  async function report(): Promise<Record<string, Record<string, number>>> {
    const path = `/api/v1/orgs/home/daily-energy?startDate=${DAY}&endDate=2026-01-08&groupBy=source`;
    const answer = await fetch(`${service.url}${path}`, { headers: headers() });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, Record<string, number>>;
  }
  return {
    service,
    cwd,
    report,
    async grow(readings) {
      const items = Array.from({ length: readings }, (_, at) => next + at).flatMap((id) =>
        DEVICES.map((device, which) => ({
          device,
          source: 'pv',
          event_time: Date.parse(`${DAY}T00:00:00Z`) + id * STEP_MS,
          msg_id: id * 2 + which,
          data: { total_wh: 5_000_000 + id * (which + 1) },
        })),
      );
      next += readings;
      const answer = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
        method: 'POST',
        headers: headers(),
        body: JSON.stringify(items),
      });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      // The first reading is the zero point of a register.
      const expectedWh = (next - 1) * 3;
      let found: Awaited<ReturnType<typeof report>> = {};
      await until(`the report has ${expectedWh} Wh`, async () => {
        found = await report().catch(() => ({}));
        return wattHours(found) === expectedWh;
      });
      return found;
    },
    run: (...args) => runCommand(args, { cwd, ...(environment && { environment }) }),
  };
}

export function wattHours(report: unknown): number {
  return Object.values(report as Record<string, Record<string, number>>)
    .flatMap((series) => Object.values(series))
    .reduce((sum, value) => sum + value, 0);
}

/** The JSON output of a command that has succeeded. */
// biome-ignore lint/suspicious/noExplicitAny: the output of a command, as programs read it
export function printedJson({ code, stdout, stderr }: CliResult): any {
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
