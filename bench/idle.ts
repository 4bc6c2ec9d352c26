import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigInput } from '../src/config/config.ts';
import { until } from '../test/support/until.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { withService } from './with-service.ts';

const IDLE_WORKGROUPS = 1_000;
const STARTED_WORKGROUPS = 200;
const SAMPLE_SECONDS = 60;
const ONE_SECONDS = 180;
const MESSAGES_A_SECOND = 20;
const LIMITS = { residentMegabytes: 1_500, cpuShare: 0.1, healthMs: 50, startMs: 10_000, oneMegabytes: 400 };

/**
 * What idle workgroups cost in one `wattline up`: memory, CPU time, and the delay of `/health`. The time until a start with workgroups that have
 * nothing to do is ready. The memory of one workgroup that receives 20 messages a second.
 */
export async function benchIdle(print: (line: string) => void): Promise<Ratio[]> {
  const idle = await withService(configOf(IDLE_WORKGROUPS), (service) => measureIdle(service, print));
  const startMs = await withService(configOf(STARTED_WORKGROUPS), (service) => measureStart(service, print));
  const oneMegabytes = await withService(configOf(1), (service) => measureOne(service, print));
  const limit = (name: string, measured: number, most: number) => ({
    name,
    ratio: most / measured,
    ratioMin: 1,
  });
  return [
    limit(`${IDLE_WORKGROUPS} idle: resident memory`, idle.residentMegabytes, LIMITS.residentMegabytes),
    limit(`${IDLE_WORKGROUPS} idle: share of a core`, idle.cpuShare, LIMITS.cpuShare),
    limit(`${IDLE_WORKGROUPS} idle: /health, 99 of 100`, idle.healthMs, LIMITS.healthMs),
    limit(`${STARTED_WORKGROUPS} at a start: time until ready`, startMs, LIMITS.startMs),
    limit('one with 20 messages a second: resident memory', oneMegabytes, LIMITS.oneMegabytes),
  ];
}

function configOf(workgroups: number): ConfigInput {
  return {
    pipeline: { hibernateAfter: '2s' },
    workgroups: Array.from({ length: workgroups }, (_, index) => ({
      id: `w${index}`,
      energyStreams: [
        { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh' as const },
      ],
    })),
  };
}

async function measureIdle({ url, processId }: ServiceProcess, print: (line: string) => void) {
  await allHibernate(url, IDLE_WORKGROUPS);
  const before = cpuSeconds(processId!);
  const beganMs = performance.now();
  const delays: number[] = [];
  while (performance.now() - beganMs < SAMPLE_SECONDS * 1_000) {
    const askedMs = performance.now();
    await (await fetch(`${url}/health`)).arrayBuffer();
    delays.push(performance.now() - askedMs);
    await sleep(200);
  }
  const cpuShare = (cpuSeconds(processId!) - before) / ((performance.now() - beganMs) / 1_000);
  const healthMs = delays.toSorted((a, b) => a - b)[Math.floor(delays.length * 0.99)]!;
  const residentMegabytes = megabytes(processId!);
  print(
    `${IDLE_WORKGROUPS} idle: ${residentMegabytes} MB, ${(100 * cpuShare).toFixed(1)} % of a core, /health ${healthMs.toFixed(0)} ms`,
  );
  return { residentMegabytes, cpuShare, healthMs };
}

async function measureStart(service: ServiceProcess, print: (line: string) => void): Promise<number> {
  await allHibernate(service.url, STARTED_WORKGROUPS);
  await service.stop();
  const beganMs = performance.now();
  await service.start();
  await until('it is ready', async () => (await fetch(`${service.url}/ready`)).ok);
  const startMs = performance.now() - beganMs;
  print(`${STARTED_WORKGROUPS} at a start: ready after ${(startMs / 1_000).toFixed(1)} s`);
  return startMs;
}

async function measureOne({ url, token, processId }: ServiceProcess, print: (line: string) => void) {
  for (let second = 0; second < ONE_SECONDS; second++) {
    const messages = Array.from({ length: MESSAGES_A_SECOND }, (_, index) => ({
      device: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      source: 'pv',
      event_time: Date.now(),
      data: { total_wh: second },
    }));
    await fetch(`${url}/api/v1/tables/w0/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(messages),
    });
    await sleep(1_000);
    if (second % 30 === 0) print(`one: ${megabytes(processId!)} MB after ${second} s`);
  }
  return megabytes(processId!);
}

/** The first start creates all warehouses, which takes minutes. */
async function allHibernate(url: string, workgroups: number): Promise<void> {
  await until(
    'all hibernate',
    async () => {
      await sleep(1_000);
      const { checks } = (await (await fetch(`${url}/ready`)).json()) as {
        checks: { worker: { detail: { hibernated: number } }; lake: { detail: { published: number } } };
      };
      return checks.worker.detail.hibernated === workgroups && checks.lake.detail.published === workgroups;
    },
    3_600_000,
  );
}

function megabytes(processId: number): number {
  const text = readFileSync(`/proc/${processId}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1_024);
}

/** User and system time, in hundredths of a second in the file. */
function cpuSeconds(processId: number): number {
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
