import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offsetOf } from '../src/contract/offset.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../src/lib/time.ts';
import { lakePaths } from '../src/publish/lake-layout.ts';
import { publish } from '../src/publish/publish.ts';
import { renewCurrent } from '../src/publish/renew-current.ts';
import { retainLake } from '../src/publish/retain-lake.ts';
import { openShard, type Shard } from '../src/warehouse/shard.ts';
import { messagesToColumns } from '../test/support/messages-to-columns.ts';
import type { Ratio } from './decode.ts';
import { median } from './statistics.ts';

const WORKGROUP = 'bench';
const HOURS = 24;
const MESSAGES = 2_400;
const ROUNDS = 25;
const ROUNDS_TO_WARM_UP = 5;
/** The day is not over, so each table has a file for each hour. */
const NOW_MS = Date.UTC(2026, 10, 20, 23, 30);
const RATIO_MAX = 1.2;

interface Lake {
  files: number;
  shard: Shard;
  lakeDir: string;
}

/** CPU of the process and time on the clock, ms. */
interface Cost {
  cpuMs: number;
  wallMs: number;
}

/**
 * Publishes one changed hour of a lake with 24 files, and of one with 2,400 files and the same messages, in
 * turns, so that a busy machine slows both. The second may cost 1.2 times as much CPU. It also prints the
 * cost of work that is done once a minute: renewing the folder `current`, and planning which files to delete.
 */
export async function benchPublish(print: (line: string) => void): Promise<Ratio[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  try {
    const lakes = [await fillLake(dataDir, 1), await fillLake(dataDir, 100)];
    const costs = new Map<string, Cost[]>();
    const note = async (what: string, { files }: Lake, work: () => Promise<unknown>) => {
      const name = `${what}, lake of ${files.toLocaleString('en')} files`;
      costs.set(name, [...(costs.get(name) ?? []), await costOf(work)]);
    };
    for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
      if (round === ROUNDS_TO_WARM_UP) costs.clear();
      for (const lake of lakes) {
        const clock = { now: () => NOW_MS + round * 60_000 };
        const options = { lakeDir: lake.lakeDir, clock, logger: silentLogger };
        await land(lake.shard, [{ table: 't0', storeTimeMs: NOW_MS + 1_000 + round }]);
        await note('publication', lake, async () => {
          const result = await publish(lake.shard, options);
          if (result.kind !== 'published' || result.files !== 1) throw new Error('expected one new file');
        });
        await note('renewal of current', lake, () => renewCurrent(lake.shard, { ...options, isFinal: true }));
        await note('retention', lake, () =>
          retainLake(lake.shard, { ...options, keepGenerationsMs: DAY_MS }),
        );
      }
    }
    const medians = [...costs].map(([name, each]) => [name, medianOf(each)] as const);
    for (const [name, { cpuMs, wallMs }] of medians)
      print(`${name.padEnd(42)} ${cpuMs.toFixed(1).padStart(6)} ms CPU ${wallMs.toFixed(1).padStart(7)} ms`);
    for (const { files, shard, lakeDir } of lakes) {
      const entries = readdirSync(lakePaths(lakeDir, WORKGROUP).root, { recursive: true }).length;
      print(`entries below a lake of ${files.toLocaleString('en')} files: ${entries.toLocaleString('en')}`);
      await shard.close();
    }
    const [few, many] = medians.filter(([name]) => name.startsWith('publication')).map(([, cost]) => cost);
    const ratio = (name: string, unit: keyof Cost): Ratio => ({
      name: `publication of one hour with 24 files, of that with 2,400: ${name}`,
      ratio: few![unit] / many![unit],
      ratioMin: 1 / RATIO_MAX,
    });
    return [ratio('CPU', 'cpuMs'), ratio('time', 'wallMs')];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A published lake with a file for each of 24 hours and each table. */
async function fillLake(dataDir: string, tables: number): Promise<Lake> {
  const lakeDir = join(dataDir, `lake-${tables}`);
  const clock = { now: () => NOW_MS };
  const shard = await openShard({
    path: join(dataDir, 'warehouse', `${tables}.duckdb`),
    workgroupId: WORKGROUP,
    memoryMegabytes: 512,
    threads: 1,
    folders: [lakeDir],
    clock,
    logger: silentLogger,
  });
  const startMs = NOW_MS - (HOURS - 1) * HOUR_MS;
  const messages = Array.from({ length: MESSAGES }, (_, index) => ({
    table: `t${index % tables}`,
    storeTimeMs: startMs + Math.floor((index * HOURS) / MESSAGES) * HOUR_MS + (index % 100),
  }));
  await land(shard, messages);
  await publish(shard, { lakeDir, clock, logger: silentLogger });
  return { files: tables * HOURS, shard, lakeDir };
}

async function land(shard: Shard, messages: Array<{ table: string; storeTimeMs: number }>): Promise<void> {
  const at = await shard.checkpoint('stream');
  const landed = await shard.land({
    origin: 'stream',
    columns: messagesToColumns(
      messages.map(({ table, storeTimeMs }) => ({
        offset: offsetOf(storeTimeMs),
        table,
        kind: 'telemetry',
        device: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
        source: 'inverter',
        event_time: storeTimeMs,
        store_time: storeTimeMs,
        data: { power_w: 1_000 },
      })),
      shard.names,
    ),
    fromOffset: at?.nextOffset,
    nextOffset: offsetOf(messages.at(-1)!.storeTimeMs + 1),
    logEpoch: 'bench',
  });
  if (landed.kind !== 'landed' || landed.messages !== messages.length)
    throw new Error(`expected messages to land, not: ${landed.kind}`);
}

async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1_000, wallMs: performance.now() - startedMs };
}

function medianOf(costs: readonly Cost[]): Cost {
  return { cpuMs: median(costs.map((one) => one.cpuMs)), wallMs: median(costs.map((one) => one.wallMs)) };
}
