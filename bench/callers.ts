import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ConfigInput } from '../src/config/config.ts';
import { readStatuses } from '../src/pipeline/workgroup-status.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { CallerCounts } from './callers-worker.ts';
import type { Ratio } from './decode.ts';
import { fillLake, WORKGROUP } from './report.ts';

const CALLERS = 50;
const MESSAGES_A_SECOND = 2_000;
const WARM_UP_SECONDS = 15;
const SECONDS = 30;
const SAMPLE_MS = 250;
const METERS = Array.from({ length: 20 }, (_, index) => `M${index + 1}`);
/** The longest lag with which the stream still looks live to a person. */
const LAG_SECONDS_MAX = 5;
/** The longest time between two publications. One is due every 5 s. */
const PAUSE_SECONDS_MAX = 15;

/**
 * Shows if callers slow the pipeline down. 50 callers ask for a year of 1,000 devices by source, for meter
 * data and for budgets in turn, without a pause. Measures the lag of landing at 2,000 messages a second with
 * them and without.
 */
export async function benchCallers(print: (line: string) => void): Promise<Ratio[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const config: ConfigInput = {
    workgroups: [
      // The days of this workgroup are stored already. It has no readings, so no day is computed.
      { id: WORKGROUP, meters: METERS.map((code) => ({ code })) },
      {
        id: 'live',
        energyStreams: [
          { table: 'solar', field: 'energy_total_wh', method: 'total_energy', unit: 'Wh', maxPower: '10 GW' },
        ],
      },
    ],
  };
  const service = await createUpProcess(cwd, config);
  const { dataDir } = service.config;
  try {
    await fillLake(dataDir, print);
    await service.start();
    await upload(service);
    return await measure(service, print);
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** A day of readings and a year of budgets of each meter. */
async function upload({ url, token }: ServiceProcess): Promise<void> {
  const days = Array.from({ length: 365 }, (_, day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString());
  const readings = METERS.flatMap((code) =>
    days.map((start) => `${code},${start},${new Date(Date.parse(start) + 86_400_000).toISOString()},12.5`),
  );
  const budgets = METERS.map((code) => `${code},2026,5000,P50`);
  for (const [path, lines] of [
    ['meter-data', ['meter_code,interval_start,interval_end,energy_kwh', ...readings]],
    ['budget-data', ['meter_code,period,energy_kwh,scenario', ...budgets]],
  ] as const) {
    for (;;) {
      const answer = await fetch(`${url}/api/v1/orgs/${WORKGROUP}/${path}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
        body: lines.join('\n'),
      });
      if (answer.ok) break;
      // The answer is 503 until the worker has opened the warehouse.
      if (answer.status !== 503) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await sleep(500);
    }
  }
}

async function measure(service: ServiceProcess, print: (line: string) => void): Promise<Ratio[]> {
  const { url, token } = service;
  const data = { url, token, workgroup: 'live', messagesASecond: MESSAGES_A_SECOND, callers: CALLERS };
  const load = new Worker(new URL('./soak-load.ts', import.meta.url), { workerData: data });
  let sent = 0;
  load.on('message', (count: number) => {
    sent = count;
  });
  let callers: Worker | undefined;
  let counts: CallerCounts | undefined;
  try {
    await sleep(WARM_UP_SECONDS * 1_000);
    const alone = await watch(service, () => sent);
    print(`alone:        ${describe(alone)}`);
    callers = new Worker(new URL('./callers-worker.ts', import.meta.url), { workerData: data });
    callers.on('message', (told: CallerCounts) => {
      counts = told;
    });
    const beside = await watch(service, () => sent);
    print(`with callers: ${describe(beside)}`);
    if (!counts) throw new Error('no caller was answered');
    const { answers, refused, bytes, longestMs } = counts;
    const rate = (answers / SECONDS).toFixed(1);
    print(
      `${CALLERS} callers: ${rate} answers/s, ${(bytes / SECONDS / 1e6).toFixed(0)} MB/s, the longest after ${(longestMs / 1_000).toFixed(1)} s, ${refused} to be asked again`,
    );
    return [
      {
        name: `lag of landing beside ${CALLERS} callers, ${LAG_SECONDS_MAX} s against the longest`,
        ratio: LAG_SECONDS_MAX / beside.lagSeconds,
        ratioMin: 1,
      },
      {
        name: `pause of publishing beside them, ${PAUSE_SECONDS_MAX} s against the longest`,
        ratio: PAUSE_SECONDS_MAX / beside.pauseSeconds,
        ratioMin: 1,
      },
      {
        name: `messages a second beside them, of ${MESSAGES_A_SECOND}`,
        ratio: beside.messagesASecond / MESSAGES_A_SECOND,
        ratioMin: 0.95,
      },
    ];
  } finally {
    await callers?.terminate();
    await load.terminate();
  }
}

interface Watched {
  /** The largest backlog: messages that were sent and have not landed, as seconds of sending. */
  lagSeconds: number;
  /** The longest time without another generation. */
  pauseSeconds: number;
  messagesASecond: number;
}

async function watch({ config }: ServiceProcess, sentNow: () => number): Promise<Watched> {
  const startMs = performance.now();
  const sentBefore = sentNow();
  const seen = { lagSeconds: 0, pauseSeconds: 0 };
  let generation: number | undefined;
  let publishedMs = startMs;
  for (let now = startMs; now - startMs < SECONDS * 1_000; now = performance.now()) {
    await sleep(SAMPLE_MS);
    const status = readStatuses(config.dataDir).find(({ workgroupId }) => workgroupId === 'live');
    if (!status) continue;
    seen.lagSeconds = Math.max(
      seen.lagSeconds,
      (sentNow() - (status.poll.messages ?? 0)) / MESSAGES_A_SECOND,
    );
    if (status.publish.generation !== generation) {
      generation = status.publish.generation;
      publishedMs = performance.now();
    }
    seen.pauseSeconds = Math.max(seen.pauseSeconds, (performance.now() - publishedMs) / 1_000);
  }
  return { ...seen, messagesASecond: (1_000 * (sentNow() - sentBefore)) / (performance.now() - startMs) };
}

function describe({ lagSeconds, pauseSeconds, messagesASecond }: Watched): string {
  return `landing lags ${lagSeconds.toFixed(1)} s at most, ${messagesASecond.toFixed(0)} messages/s, ${pauseSeconds.toFixed(1)} s at most between generations`;
}
