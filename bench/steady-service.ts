import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, InputError } from '../src/lib/errors.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { STEADY_MINUTES, steadyServiceHelp } from './option-helps.ts';
import { cpuSeconds, loadOfMachine, type ProcessMemory, processMemory } from './process-costs.ts';

const MESSAGES_A_SECOND = 20;
const SAMPLE_SECONDS = 30;
/** The length of the beginning and of the end that are compared. In a short run each is a third of it. */
const PART_SECONDS = 600;
/** Generations with views stay in the lake for an hour, so the number of its entries grows for so long. */
const LAKE_SECONDS = 3_600 + PART_SECONDS;
const LIMITS = { residentMegabytes: 400, growth: 1.05, cpuShare: 0.1 };

interface Sample {
  second: number;
  memory: ProcessMemory;
  entries: number;
}

/**
 * Resident memory, CPU time and files of `wattline up` with default settings, while one workgroup receives 20
 * messages a second. Compares the mean of the first ten minutes with that of the last ten minutes. The memory
 * of child processes counts too.
 */
export async function benchSteadyService(
  print: (line: string) => void,
  options: readonly string[] = [],
): Promise<Ratio[]> {
  const seconds = minutesOf(options) * 60;
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const service = await createUpProcess(cwd, {
    // This is the default.
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
    const { samples, cpuShare } = await measure(service, seconds, print);
    return [
      {
        name: `resident memory: ${LIMITS.residentMegabytes} MB against the most`,
        ratio: LIMITS.residentMegabytes / Math.max(...samples.map(({ memory }) => memory.resident)),
        ratioMin: 1,
      },
      growth('resident memory', samples, print, ({ memory }) => memory.resident),
      ...(seconds > LAKE_SECONDS + PART_SECONDS
        ? [
            growth(
              'entries in the lake after the first hour',
              samples.filter(({ second }) => second > LAKE_SECONDS - PART_SECONDS),
              print,
              ({ entries }) => entries,
            ),
          ]
        : []),
      { name: 'CPU: a tenth of a core against the mean', ratio: LIMITS.cpuShare / cpuShare, ratioMin: 1 },
    ];
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Compares the mean of the beginning with the mean of the end. */
function growth(
  name: string,
  samples: readonly Sample[],
  print: (line: string) => void,
  of: (sample: Sample) => number,
): Ratio {
  const samplesMax = Math.max(1, Math.min(PART_SECONDS / SAMPLE_SECONDS, Math.floor(samples.length / 3)));
  const mean = (part: readonly Sample[]) => part.reduce((sum, one) => sum + of(one), 0) / part.length;
  const [first, last] = [mean(samples.slice(0, samplesMax)), mean(samples.slice(-samplesMax))];
  const minutes = (samplesMax * SAMPLE_SECONDS) / 60;
  print(
    `${name}: ${first.toFixed(0)} in the first ${minutes} minutes, ${last.toFixed(0)} in the last ${minutes}`,
  );
  return { name: `${name}: the beginning against the end`, ratio: first / last, ratioMin: 1 / LIMITS.growth };
}

function minutesOf(options: readonly string[]): number {
  if (options.length === 0) return STEADY_MINUTES;
  const minutes = Number(options[1]);
  if (options[0] !== '--minutes' || options.length > 2 || !(minutes > 0))
    throw new InputError('the command', [{ path: '', message: steadyServiceHelp }]);
  return minutes;
}

/** Counts the files and folders below a folder, while the service changes them. */
function countEntries(folder: string): number {
  for (;;)
    try {
      return readdirSync(folder, { recursive: true }).length;
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
}

async function measure(service: ServiceProcess, seconds: number, print: (line: string) => void) {
  const { url, token, config } = service;
  const processId = service.processId!;
  const samples: Sample[] = [];
  const beganMs = performance.now();
  const cpuBefore = cpuSeconds(processId);
  for (let second = 1; second <= seconds; second++) {
    const messages = Array.from({ length: MESSAGES_A_SECOND }, (_, index) => ({
      device: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      source: 'pv',
      event_time: Date.now(),
      data: { total_wh: second, power_w: 1_000 + (second % 700), temperature_c: 20 + (index % 5) },
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
    const memory = processMemory(processId);
    const entries = countEntries(join(config.dataDir, 'lake', 'bench'));
    samples.push({ second, memory, entries });
    const walBytes =
      statSync(join(config.dataDir, 'warehouse', 'bench.duckdb.wal'), { throwIfNoEntry: false })?.size ?? 0;
    const cpuShare = (100 * (cpuSeconds(processId) - cpuBefore)) / second;
    print(
      `${String(second).padStart(5)} s  resident ${memory.resident} MB (anonymous ${memory.anonymous}, files ${memory.files}, of these the log ${memory.log}; ${memory.proportional} without the share of other processes)  ${cpuShare.toFixed(1)} % of a core  ${entries} entries in the lake  write-ahead log ${Math.round(walBytes / 1_024)} kB  load ${loadOfMachine()}`,
    );
  }
  return { samples, cpuShare: (cpuSeconds(processId) - cpuBefore) / seconds };
}
