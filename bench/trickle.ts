import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputError } from '../src/lib/errors.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { cpuSeconds, loadOfMachine, residentMegabytesOf } from './process-costs.ts';

const MESSAGES_A_SECOND = 20;
const SAMPLE_SECONDS = 30;
const MINUTES = 10;
const LIMITS = { residentMegabytes: 400, growth: 1.05, cpuShare: 0.1 };

export const trickleHelp = `trickle:
  --minutes <n>   how long messages are sent (default ${MINUTES}); memory is flat only after about an hour`;

/**
 * Resident memory, CPU time and files of `wattline up` with default settings, while one workgroup receives 20 messages a second. Compares the mean memory of
 * the last quarter with that of the quarter before.
 */
export async function benchTrickle(
  print: (line: string) => void,
  options: readonly string[] = [],
): Promise<Ratio[]> {
  const seconds = minutesOf(options) * 60;
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const service = await createUpProcess(cwd, {
    // The helper makes views for people more often than the default.
    pipeline: { currentEvery: '1m' },
    workgroups: [
      {
        id: 'bench',
        energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
  });
  try {
    await service.start();
    const { megabytes, cpuShare } = await measure(service, seconds, print);
    const quarter = Math.max(1, Math.floor(megabytes.length / 4));
    const mean = (part: readonly number[]) => part.reduce((sum, one) => sum + one, 0) / part.length;
    const [third, last] = [mean(megabytes.slice(-2 * quarter, -quarter)), mean(megabytes.slice(-quarter))];
    return [
      {
        name: `${MESSAGES_A_SECOND} messages a second: resident memory, ${LIMITS.residentMegabytes} MB against the most`,
        ratio: LIMITS.residentMegabytes / Math.max(...megabytes),
        ratioMin: 1,
      },
      {
        name: 'memory: the third quarter against the last',
        ratio: third / last,
        ratioMin: 1 / LIMITS.growth,
      },
      { name: 'CPU: a tenth of a core against the mean', ratio: LIMITS.cpuShare / cpuShare, ratioMin: 1 },
    ];
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    rmSync(cwd, { recursive: true, force: true });
  }
}

function minutesOf(options: readonly string[]): number {
  if (options.length === 0) return MINUTES;
  const minutes = Number(options[1]);
  if (options[0] !== '--minutes' || options.length > 2 || !(minutes > 0))
    throw new InputError('the command', [{ path: '', message: trickleHelp }]);
  return minutes;
}

async function measure(service: ServiceProcess, seconds: number, print: (line: string) => void) {
  const { url, token, config } = service;
  const processId = service.processId!;
  const megabytes: number[] = [];
  const beganMs = performance.now();
  const cpuBefore = cpuSeconds(processId);
  for (let second = 1; second <= seconds; second++) {
    const messages = Array.from({ length: MESSAGES_A_SECOND }, (_, index) => ({
      device: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      source: 'pv',
      event_time: Date.now(),
      data: { total_wh: second },
    }));
    const answer = await fetch(`${url}/api/v1/tables/bench/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(messages),
    });
    if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
    await answer.arrayBuffer();
    await sleep(Math.max(0, beganMs + second * 1_000 - performance.now()));
    if (second % SAMPLE_SECONDS > 0) continue;
    megabytes.push(residentMegabytesOf(processId));
    const entries = readdirSync(join(config.dataDir, 'lake', 'bench'), { recursive: true }).length;
    const walBytes =
      statSync(join(config.dataDir, 'warehouse', 'bench.duckdb.wal'), { throwIfNoEntry: false })?.size ?? 0;
    const cpuShare = (100 * (cpuSeconds(processId) - cpuBefore)) / second;
    print(
      `${String(second).padStart(5)} s  resident ${megabytes.at(-1)} MB  ${cpuShare.toFixed(1)} % of a core  ${entries} entries in the lake  write-ahead log ${Math.round(walBytes / 1_024)} kB  load ${loadOfMachine()}`,
    );
  }
  return { megabytes, cpuShare: (cpuSeconds(processId) - cpuBefore) / seconds };
}
