import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAccess } from '../src/access/access.ts';
import type { ConfigInput } from '../src/config/config.ts';
import { DAY_MS, systemClock } from '../src/lib/time.ts';
import { until } from '../test/support/until.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { cpuSeconds, residentMegabytesOf } from './process-costs.ts';
import { quantile } from './statistics.ts';
import { withService } from './with-service.ts';

const IDLE_WORKGROUPS = 1_000;
/**
 * These workgroups have data. The others have never had a message, because filling them takes longer than
 * measuring.
 */
const USED_WORKGROUPS = 200;
const STARTED_WORKGROUPS = 200;
const SAMPLE_SECONDS = 60;
const WAIT_MS = 3_600_000;
const DEVICE = '00000000-0000-4000-8000-000000000001';
const LIMITS = { residentMegabytes: 1_500, cpuShare: 0.1, healthMs: 50, startMs: 10_000, firstCpuMs: 500 };

/**
 * What idle workgroups cost in one `wattline up`: memory, CPU time, and the delay of `/health`. What the
 * first message of a workgroup costs until it hibernates. The time until a start is ready, with workgroups
 * that hibernate and with workgroups that must be opened.
 */
export async function benchIdle(print: (line: string) => void): Promise<Ratio[]> {
  const idle = await withService(configOf(IDLE_WORKGROUPS), (service) => measureIdle(service, print));
  const start = await withService(configOf(STARTED_WORKGROUPS), (service) => measureStarts(service, print));
  const limit = (name: string, measured: number, most: number) => ({
    name,
    ratio: most / measured,
    ratioMin: 1,
  });
  return [
    limit(`${IDLE_WORKGROUPS} idle: resident memory`, idle.residentMegabytes, LIMITS.residentMegabytes),
    limit(`${IDLE_WORKGROUPS} idle: share of a core`, idle.cpuShare, LIMITS.cpuShare),
    limit(`${IDLE_WORKGROUPS} idle: /health, 99 of 100`, idle.healthMs, LIMITS.healthMs),
    limit(
      `${STARTED_WORKGROUPS} that hibernate at a start: time until ready`,
      start.hibernatedMs,
      LIMITS.startMs,
    ),
    limit(`${STARTED_WORKGROUPS} that are awake at a start: time until ready`, start.awakeMs, LIMITS.startMs),
    limit(
      'CPU time of a workgroup from its first message until it hibernates',
      idle.firstCpuMs,
      LIMITS.firstCpuMs,
    ),
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

async function measureIdle(service: ServiceProcess, print: (line: string) => void) {
  const { url, processId } = service;
  const firstCpuMs = await useWorkgroups(service, USED_WORKGROUPS);
  print(`a workgroup from its first message until it hibernates: ${firstCpuMs.toFixed(0)} ms CPU`);
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
  const healthMs = quantile(delays, 0.99);
  const residentMegabytes = residentMegabytesOf(processId!);
  print(
    `${IDLE_WORKGROUPS} idle: ${residentMegabytes} MB, ${(100 * cpuShare).toFixed(1)} % of a core, /health ${healthMs.toFixed(0)} ms`,
  );
  return { residentMegabytes, cpuShare, healthMs, firstCpuMs };
}

/**
 * Sends a message to each of these workgroups, and waits until they hibernate again.
 * @returns CPU time of one, ms
 */
async function useWorkgroups(service: ServiceProcess, workgroups: number): Promise<number> {
  const { url, config, processId } = service;
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  const before = cpuSeconds(processId!);
  for (let index = 0; index < workgroups; index++) {
    // A token for all workgroups would be too long for a header.
    const scopes = { [`w${index}`]: { permissions: ['data:write' as const] } };
    const { token } = await access.issue(
      { subject: 'bench', scopes, lifetimeMs: DAY_MS },
      { unlisted: true },
    );
    const message = { device: DEVICE, source: 'pv', event_time: Date.now(), data: { total_wh: 1 } };
    const answer = await fetch(`${url}/api/v1/tables/w${index}/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([message]),
    });
    if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
    await answer.arrayBuffer();
  }
  await until('all are published', async () => (await readiness(url)).published === workgroups, WAIT_MS);
  await allHibernate(url, service.config.workgroups.length);
  return ((cpuSeconds(processId!) - before) / workgroups) * 1_000;
}

async function measureStarts(service: ServiceProcess, print: (line: string) => void) {
  await useWorkgroups(service, STARTED_WORKGROUPS);
  await service.stop();
  const hibernatedMs = await measureStart(service);
  await service.stop();
  const folder = join(service.config.dataDir, 'warehouse');
  // A workgroup without its idle note counts as not closed cleanly, so it is opened.
  for (const name of readdirSync(folder)) if (name.endsWith('.idle.json')) rmSync(join(folder, name));
  const awakeMs = await measureStart(service);
  print(
    `${STARTED_WORKGROUPS} at a start: ready after ${(hibernatedMs / 1_000).toFixed(1)} s if they hibernate, ${(awakeMs / 1_000).toFixed(1)} s if they are opened`,
  );
  return { hibernatedMs, awakeMs };
}

async function measureStart(service: ServiceProcess): Promise<number> {
  const beganMs = performance.now();
  await service.start();
  await until('it is ready', async () => (await fetch(`${service.url}/ready`)).ok, WAIT_MS);
  return performance.now() - beganMs;
}

async function allHibernate(url: string, workgroups: number): Promise<void> {
  await until('all hibernate', async () => (await readiness(url)).hibernated === workgroups, WAIT_MS);
}

/** Asks only once a second, because more requests would cost more than what is measured. */
async function readiness(url: string): Promise<{ hibernated: number; published: number }> {
  await sleep(1_000);
  const { checks } = (await (await fetch(`${url}/ready`)).json()) as {
    checks: { worker: { detail: { hibernated: number } }; lake: { detail: { published: number } } };
  };
  return { hibernated: checks.worker.detail.hibernated, published: checks.lake.detail.published };
}
