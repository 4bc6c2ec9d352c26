import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { RATE_DEFAULT } from '../src/backfill/backfill-request.ts';
import type { ConfigInput } from '../src/config/config.ts';
import { MINUTE_MS } from '../src/lib/time.ts';
import { readStatuses } from '../src/pipeline/workgroup-status.ts';
import { createControl } from '../src/worker-rpc/control.ts';
import { until } from '../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { withService } from './with-service.ts';

const PASSED_OVER = 600_000;
const LIVE_A_SECOND = 2_000;
const SECONDS = 15;
const SAMPLE_MS = 250;
const WAIT_MS = 5 * MINUTE_MS;
/** A second of reading and landing, and one until the status is written. */
const BEHIND_SECONDS_MAX = 2;

const workgroup = {
  id: 'bench',
  energyStreams: [
    {
      table: 'solar',
      field: 'energy_total_wh',
      method: 'total_energy' as const,
      unit: 'Wh',
      maxPower: '10 GW',
    },
  ],
};

/**
 * How far the live reader of 2,000 messages a second is behind: alone, beside a backfill at the default rate,
 * and beside a backfill without a limit. The backfill reads the messages that the live reader did not read.
 */
export function benchBackfill(print: (line: string) => void): Promise<Ratio[]> {
  return withService({ workgroups: [workgroup] }, async (upstream) => {
    const startMs = Date.now();
    const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
    const address = { url: upstream.url, token: upstream.token };
    const reader = await createUpProcess(cwd, readerOf({ ...address, table: 'wind' }));
    try {
      await reader.start();
      await send(upstream, 50_000, PASSED_OVER);
      await until(
        'the reader has passed everything over',
        async () => (await checkpoint(reader)) > 0n,
        WAIT_MS,
      );
      await reader.stop();
      const path = join(cwd, 'wattline.yaml');
      writeFileSync(path, readFileSync(path, 'utf8').replace('table: wind', "table: '-'"));
      await reader.start();
      const rates = { alone: 0, 'at the default rate': RATE_DEFAULT, 'without a limit': 100_000_000 };
      const ratios: Ratio[] = [];
      for (const [name, messagesPerSecond] of Object.entries(rates)) {
        const { behind, landedASecond } = await measure(upstream, reader, { messagesPerSecond, startMs });
        const [median, longest] = [behind[behind.length >> 1]!, behind.at(-1)!].map(
          (messages) => messages / LIVE_A_SECOND,
        ) as [number, number];
        print(
          `${name.padEnd(20)} behind ${median.toFixed(1)} s median, ${longest.toFixed(1)} s at most; backfill ${Math.round(landedASecond)} messages/s`,
        );
        if (messagesPerSecond === 0) continue;
        ratios.push({
          name: `live reader beside a backfill ${name}, ${BEHIND_SECONDS_MAX} s against how far it is behind, median`,
          ratio: BEHIND_SECONDS_MAX / Math.max(0.01, median),
          ratioMin: 1,
        });
      }
      return ratios;
    } finally {
      await reader.stop();
      process.stderr.write(reader.errorText());
      rmSync(cwd, { recursive: true, force: true });
    }
  });
}

function readerOf(upstream: { url: string; token: string; table: string }): ConfigInput {
  return { workgroups: [{ ...workgroup, upstream }] };
}

async function checkpoint({ config }: ServiceProcess): Promise<bigint> {
  const status = readStatuses(config.dataDir)[0];
  return status?.poll.upToDate ? BigInt(status.poll.nextOffset ?? 0) : 0n;
}

/** Sends messages to the upstream from another thread. */
function sender({ url, token }: ServiceProcess, messagesASecond: number) {
  const worker = new Worker(new URL('./soak-load.ts', import.meta.url), {
    workerData: { url, token, workgroup: 'bench', messagesASecond },
  });
  const state = { sent: 0, end: () => worker.terminate() };
  worker.on('message', (count: number) => {
    state.sent = count;
  });
  return state;
}

async function send(upstream: ServiceProcess, messagesASecond: number, count: number): Promise<void> {
  const load = sender(upstream, messagesASecond);
  while (load.sent < count) await sleep(20);
  await load.end();
}

/** Samples, in rising order, of how many live messages have not landed, while a backfill runs or none. */
async function measure(
  upstream: ServiceProcess,
  reader: ServiceProcess,
  { messagesPerSecond, startMs }: { messagesPerSecond: number; startMs: number },
): Promise<{ behind: number[]; landedASecond: number }> {
  const control = createControl(reader.config.dataDir);
  const polled = () => readStatuses(reader.config.dataDir)[0]?.poll.messages ?? 0;
  await until(
    'the reader is at the head',
    async () => readStatuses(reader.config.dataDir)[0]?.poll.upToDate === true,
    WAIT_MS,
  );
  await sleep(2_000);
  const before = polled();
  const request = { source: 'stream' as const, fromMs: startMs, messagesPerSecond };
  const load = sender(upstream, LIVE_A_SECOND);
  if (messagesPerSecond > 0) await control.ask('bench', 'backfillStart', { request });
  const behind: number[] = [];
  const beganMs = performance.now();
  let landedASecond = 0;
  while (performance.now() - beganMs < SECONDS * 1_000) {
    await sleep(SAMPLE_MS);
    behind.push(load.sent - (polled() - before));
    const state = messagesPerSecond > 0 ? await control.ask('bench', 'backfillState', undefined) : undefined;
    if (state?.kind === 'failed') throw state.error;
    if (state?.kind === 'answer' && state.answer.kind === 'running')
      landedASecond = state.answer.progress.messagesLanded / ((performance.now() - beganMs) / 1_000);
    else if (state) break;
  }
  if (messagesPerSecond > 0) await control.ask('bench', 'backfillStop', undefined);
  await load.end();
  return { behind: behind.sort((a, b) => a - b), landedASecond };
}
