import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../src/lib/time.ts';
import { readStatuses } from '../src/pipeline/workgroup-status.ts';
import { until } from '../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { cpuSeconds, loadOfMachine, residentMegabytesOf } from './process-costs.ts';
import { fillYear, YEAR_DEVICES, YEAR_WORKGROUP, yearDevice, yearRegisterWh } from './year-data.ts';

const DAYS = 365;
const WAIT_MS = 5 * MINUTE_MS;
const MESSAGES_A_SECOND = 10;
const SECONDS = 120;
const LIMITS = { startCpuSeconds: 3, cpuShare: 0.1, statusCpuSeconds: 1 };
const cli = join(import.meta.dirname, '..', 'src', 'cli.ts');

/**
 * A workgroup with a year of 100 devices that send every five minutes, 10.5 million readings. CPU time of a
 * start until the first report and the first publication, of 10 messages a second, and of `wattline status`.
 * Filling takes about ten minutes.
 */
export async function benchYear(print: (line: string) => void): Promise<Ratio[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const service = await createUpProcess(cwd, {
    pipeline: { currentEvery: '1m' },
    workgroups: [
      {
        id: YEAR_WORKGROUP,
        energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
  });
  try {
    const endMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await fillYear(cwd, { days: DAYS, endMs, print });
    const start = await measureStart(service, print);
    const cpuShare = await measureTrickle(service, print);
    const statusCpuSeconds = await measureStatus(cwd, print);
    const limit = (name: string, measured: number, most: number): Ratio => ({
      name: `a year of ${YEAR_DEVICES} devices: ${name}`,
      ratio: most / measured,
      ratioMin: 1,
    });
    return [
      limit('CPU time of a start until the first report', start.reportCpuSeconds, LIMITS.startCpuSeconds),
      limit(
        'CPU time of a start until a message is published',
        start.publishedCpuSeconds,
        LIMITS.startCpuSeconds,
      ),
      limit(`share of a core with ${MESSAGES_A_SECOND} messages a second`, cpuShare, LIMITS.cpuShare),
      limit('CPU time of wattline status', statusCpuSeconds, LIMITS.statusCpuSeconds),
    ];
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    rmSync(cwd, { recursive: true, force: true });
  }
}

async function measureStart(service: ServiceProcess, print: (line: string) => void) {
  const beganMs = performance.now();
  const generation = () => readStatuses(service.config.dataDir)[0]?.publish.generation ?? 0;
  const before = generation();
  await service.start();
  const processId = service.processId!;
  const note = (what: string) => {
    const cpu = cpuSeconds(processId);
    print(
      `start: ${what} after ${cpu.toFixed(2)} s CPU, ${((performance.now() - beganMs) / 1_000).toFixed(1)} s, load ${loadOfMachine()}, ${residentMegabytesOf(processId)} MB`,
    );
    return cpu;
  };
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const range = `startDate=${day(Date.now() - 30 * DAY_MS)}&endDate=${day(Date.now())}`;
  await until(
    'a report answers',
    async () => {
      const answer = await fetch(`${service.url}/api/v1/orgs/${YEAR_WORKGROUP}/daily-energy?${range}`, {
        headers: { authorization: `Bearer ${service.token}` },
      });
      return (await answer.text()).includes(yearDevice(0));
    },
    WAIT_MS,
  );
  const reportCpuSeconds = note('first report');
  await post(service, 0);
  await until('a message is published', () => generation() > before, WAIT_MS);
  return { reportCpuSeconds, publishedCpuSeconds: note('first publication') };
}

/** @returns the share of a core */
async function measureTrickle(service: ServiceProcess, print: (line: string) => void): Promise<number> {
  const processId = service.processId!;
  const cpuBefore = cpuSeconds(processId);
  const beganMs = performance.now();
  for (let second = 1; second <= SECONDS; second++) {
    await post(service, second);
    await sleep(Math.max(0, beganMs + second * 1_000 - performance.now()));
  }
  const share = (cpuSeconds(processId) - cpuBefore) / ((performance.now() - beganMs) / 1_000);
  print(
    `${MESSAGES_A_SECOND} messages a second: ${(100 * share).toFixed(1)} % of a core, ${residentMegabytesOf(processId)} MB, load ${loadOfMachine()}`,
  );
  return share;
}

async function post({ url, token }: ServiceProcess, second: number): Promise<void> {
  const messages = Array.from({ length: MESSAGES_A_SECOND }, (_, index) => {
    const device = (second * MESSAGES_A_SECOND + index) % YEAR_DEVICES;
    const event_time = Date.now();
    const total_wh = yearRegisterWh(device, event_time);
    return { device: yearDevice(device), source: 'pv', event_time, data: { total_wh } };
  });
  const answer = await fetch(`${url}/api/v1/tables/${YEAR_WORKGROUP}/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(messages),
  });
  if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
  await answer.arrayBuffer();
}

/** @returns CPU seconds of the command */
async function measureStatus(cwd: string, print: (line: string) => void): Promise<number> {
  // The system counts the CPU time of a child when it has ended. So the command runs in a shell that reports
  // its times.
  const child = spawn('bash', ['-c', `"$0" "$1" status > /dev/null; times`, process.execPath, cli], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(child, 'close');
  const times = [
    ...text
      .trim()
      .split('\n')
      .at(-1)!
      .matchAll(/(\d+)m([\d.]+)s/g),
  ];
  const seconds = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  print(`wattline status: ${seconds.toFixed(2)} s CPU`);
  return seconds;
}
