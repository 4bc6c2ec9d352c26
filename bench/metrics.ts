import { setTimeout as sleep } from 'node:timers/promises';
import { createAccess } from '../src/access/access.ts';
import { configSchema } from '../src/config/config.ts';
import { createWorkgroups } from '../src/config/workgroups.ts';
import { createInputCounter } from '../src/inputs/input-counter.ts';
import { DAY_MS, systemClock } from '../src/lib/time.ts';
import { createServiceMetrics } from '../src/metrics/service-metrics.ts';
import { emptyStatus, type WorkgroupStatus } from '../src/pipeline/workgroup-status.ts';
import { freePort } from '../test/support/free-port.ts';
import { until } from '../test/support/until.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { cpuSeconds } from './process-costs.ts';
import { withService } from './with-service.ts';

const WORKGROUPS = 1_000;
/**
 * These have published data. The others have never had a message, because filling them takes longer than
 * measuring.
 */
const USED_WORKGROUPS = 40;
/** The default of pipeline.openWorkgroupsMax. The others hibernate. */
const OPEN_WORKGROUPS = 64;
const SCRAPES = 40;
const SCRAPES_TO_WARM_UP = 20;
const SCRAPE_MS_MAX = 20;
const IDLE_SAMPLE_MS = 5_000;
const WAIT_MS = 600_000;
const DEVICE = '00000000-0000-4000-8000-000000000001';

/**
 * How long a scrape of 1,000 workgroups takes: in a real service, where a few have data, and by itself with
 * every metric of every workgroup. It is CPU time without that of an idle process, because a scrape waits for
 * nothing and a busy machine changes times on the clock.
 */
export async function benchMetrics(print: (line: string) => void): Promise<Ratio[]> {
  const input = {
    metrics: { port: await freePort() },
    pipeline: { hibernateAfter: '2s' },
    workgroups: Array.from({ length: WORKGROUPS }, (_, index) => ({
      id: `w${index}`,
      energyStreams: [
        { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh' as const },
      ],
    })),
  };
  const real = await withService(input, async (service) => {
    await useWorkgroups(service);
    await until('all hibernate', () => isResting(service), WAIT_MS);
    const url = `http://127.0.0.1:${service.config.metrics.port}/metrics`;
    const cpuMs = () => cpuSeconds(service.processId!) * 1_000;
    return measure('a real service', { scrape: async () => (await fetch(url)).text(), cpuMs }, print);
  });
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const known = (open: number) => {
    const { text } = allKnown(input, open);
    return { scrape: async () => text(), cpuMs };
  };
  const usual = await measure(`every metric, ${OPEN_WORKGROUPS} open`, known(OPEN_WORKGROUPS), print);
  await measure('every metric, all open', known(WORKGROUPS), print);
  const limit = (name: string, ms: number) => ({ name, ratio: SCRAPE_MS_MAX / ms, ratioMin: 1 });
  return [
    limit(`a scrape of ${WORKGROUPS} workgroups of a service`, real),
    limit(`the same, every metric, ${OPEN_WORKGROUPS} open`, usual),
  ];
}

/** @returns CPU time of one scrape, ms */
async function measure(
  name: string,
  { scrape, cpuMs }: { scrape: () => Promise<string>; cpuMs: () => number },
  print: (line: string) => void,
): Promise<number> {
  for (let round = 0; round < SCRAPES_TO_WARM_UP; round++) await scrape();
  const idleShare = await shareOf(cpuMs);
  const durations: number[] = [];
  const before = cpuMs();
  const startedMs = performance.now();
  let text = '';
  for (let round = 0; round < SCRAPES; round++) {
    const beganMs = performance.now();
    text = await scrape();
    durations.push(performance.now() - beganMs);
  }
  const idleMs = idleShare * (performance.now() - startedMs);
  const ms = (cpuMs() - before - idleMs) / SCRAPES;
  const median = durations.toSorted((a, b) => a - b)[SCRAPES >> 1]!;
  const size = `${text.split('\n').length} lines, ${(text.length / 1e6).toFixed(1)} MB`;
  print(`${name}: ${ms.toFixed(1)} ms CPU, ${median.toFixed(1)} ms on the clock, ${size}`);
  return ms;
}

/** The share of a core that a process uses without scrapes. */
async function shareOf(cpuMs: () => number): Promise<number> {
  const before = cpuMs();
  const startedMs = performance.now();
  await sleep(IDLE_SAMPLE_MS);
  return (cpuMs() - before) / (performance.now() - startedMs);
}

async function isResting({ url }: ServiceProcess): Promise<boolean> {
  // Asks only once a second, because more requests would cost more than what is measured.
  await sleep(1_000);
  const { checks } = (await (await fetch(`${url}/ready`)).json()) as {
    checks: { worker: { detail: { hibernated: number } } };
  };
  return checks.worker.detail.hibernated === WORKGROUPS;
}

/** Sends a message to some of the workgroups, and waits until they have published it. */
async function useWorkgroups({ url, config }: ServiceProcess): Promise<void> {
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  for (let index = 0; index < USED_WORKGROUPS; index++) {
    const scopes = { [`w${index}`]: { permissions: ['data:write' as const] } };
    const request = { subject: 'bench', scopes, lifetimeMs: DAY_MS };
    const { token } = await access.issue(request, { unlisted: true });
    const message = { device: DEVICE, source: 'pv', event_time: Date.now(), data: { total_wh: 1 } };
    const answer = await fetch(`${url}/api/v1/tables/w${index}/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([message]),
    });
    if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
  }
  const scraped = `http://127.0.0.1:${config.metrics.port}/metrics`;
  const published = async () =>
    (await (await fetch(scraped)).text())
      .split('\n')
      .filter((line) => line.startsWith('wattline_lake_bytes{'));
  await until('all are published', async () => (await published()).length === USED_WORKGROUPS, WAIT_MS);
}

/** Metrics of workgroups with every value. The first `open` ones are open, and the others hibernate. */
function allKnown(input: { workgroups: ReadonlyArray<{ id: string }> }, open: number): { text(): string } {
  const workgroups = createWorkgroups(configSchema.parse(input));
  const ids = workgroups.list().map(({ id }) => id);
  const clock = systemClock;
  const nowMs = clock.now();
  const options = { version: '0', roles: ['up'], dataDir: '/tmp', retentionMs: 3_600_000, workgroups, clock };
  const counters = ids.map((workgroupId) => {
    const about = { workgroupId, input: 'house', kind: 'mqtt', address: 'mqtt://broker' } as const;
    const counter = createInputCounter({ ...about, connection: 'connected' }, clock);
    counter.noteReceived();
    return counter;
  });
  const { registry, watchStream, addWorker } = createServiceMetrics(options);
  watchStream({
    counts: () =>
      ids.map((workgroupId) => ({ workgroupId, messagesAppended: 5, heldReads: 1, oldestMs: nowMs })),
    subscriptions: () => new Map(ids.map((id) => [id, 2])),
    inputs: () => counters.map((counter) => counter.state()),
  });
  const { events, watch } = addWorker();
  const stageNames = ['poll', 'rollup', 'publish', 'maintain', 'commit', 'export'];
  for (const workgroupId of ids.slice(0, open))
    for (const stage of stageNames)
      events.onStageEnded({ workgroupId, stage, durationMs: 5, hasFailed: false });
  const statuses = new Map(ids.map((id) => [id, fullStatus(id, nowMs)]));
  const stages = stageNames.map((stage) => ({ stage, lastSuccessAtMs: nowMs }));
  const exportState = {
    id: 'erp',
    lastRun: null,
    lastDeliveredAt: new Date(nowMs).toISOString(),
    pending: 1,
    failed: 0,
    troubled: [],
    outdated: 0,
    outdatedWh: 0,
  };
  watch({
    shards: () =>
      ids.map((workgroupId, index) => ({
        workgroupId,
        state: index < open ? 'owned' : 'hibernated',
        failingSinceMs: null,
        stages: index < open ? stages : [],
      })),
    statusOf: (id) => statuses.get(id),
    alertsSent: () => new Map(),
    exports: () => ids.map((id) => [{ config: { id: 'erp' }, workgroup: { id } }, exportState] as const),
  });
  return registry;
}

function fullStatus(workgroupId: string, nowMs: number): WorkgroupStatus {
  return {
    ...emptyStatus(workgroupId, nowMs),
    poll: { upToDate: true, lagMessages: 0, lagSeconds: 0, messages: 123_456, quarantined: 2 },
    publish: { generation: 1_234, generationAtMs: nowMs },
    newestReadingAtMs: nowMs,
    devices: { online: 10, offline: 1, unknown: 0 },
    figures: {
      quarantinedByReason: { not_a_number: 3, sentinel: 4 },
      daysFlagged: { estimated: 4, partial: 5, reset: 1 },
      daysRestated: 2,
      gapOpenMs: 0,
      warehouseBytes: 12_345_678,
      lakeBytes: 123_456_789,
    },
  };
}
