import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Shard } from '../src/warehouse/shard.ts';
import type { Ratio } from './decode.ts';
import {
  addLateReading,
  fillSite,
  openSite,
  type RegisterSite,
  rollUpAll,
  siteConfig,
} from './rollup-data.ts';
import { type Times, timesOf } from './statement-times.ts';

type Work = Omit<Times, 'statements'>;

const MEMORY_MEGABYTES = 1_024;

/** What the process has beside the warehouse's limit while it rolls up. */
const BESIDE_MEGABYTES = 384;
const THREADS = 2;
const ROUNDS = 15;

const STATEMENTS_MAX = 40;
const LATE_CPU_MS_MAX = 60;
const STEP_MS_MAX = 2_000;

const hourly = { stepMs: 3_600_000, batch: 250_000 };
const year: RegisterSite = { ...hourly, devices: 1_000, readings: 8_760_000 };
/** Three years of nights. */
const nights: RegisterSite = { ...hourly, devices: 100, readings: 2_628_000 };
/** Four weeks, every five minutes: 1.6 million readings, all on days whose limits follow from the three days before them too. */
const month: RegisterSite = {
  stepMs: 300_000,
  batch: 250_000,
  devices: 200,
  readings: 1_612_800,
  fromDay: 3,
};

/**
 * What the roll-up costs where little is new: statements and CPU of a late reading and of an idle tick, the first roll-up of messages against a
 * full one of stored readings, nights of zeros, and the longest transaction after a limit has moved.
 */
export async function benchRollUpCost(print: (line: string) => void): Promise<Ratio[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const beforeMegabytes = residentMegabytes();
  const memory = watchMemory();
  try {
    const late = await benchLate(join(folder, 'year'), print);
    const zeros = await benchNights(folder, print);
    const moved = await benchMoved(join(folder, 'moved'), print);
    const takenMegabytes = memory.peakMegabytes() - beforeMegabytes;
    print(`memory: ${Math.round(takenMegabytes)} MB more than before at most`);
    return [
      ...late,
      zeros,
      moved,
      {
        name: `memory: the limit and ${BESIDE_MEGABYTES} MB, of what all of it takes at most`,
        ratio: (MEMORY_MEGABYTES + BESIDE_MEGABYTES) / takenMegabytes,
        ratioMin: 1,
      },
    ];
  } finally {
    memory.peakMegabytes();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchLate(folder: string, print: (line: string) => void): Promise<Ratio[]> {
  return withSite(folder, async (shard) => {
    await fillSite(shard, year);
    const first = await timesOf(() => rollUpAll(shard, siteConfig()));
    const full = await timesOf(() => rollUpAll(shard, siteConfig('Europe/London')));
    const millions = year.readings / 1e6;
    print(
      `a year of 1,000 devices: first roll-up ${perMillion(first, millions)}, every reading again ${perMillion(full, millions)}`,
    );
    const late = await lateReadings(shard, 'Europe/London');
    print(
      `a late reading in it: ${late.runs} statements, ${late.cpuMs.toFixed(0)} ms of CPU, ${late.ms.toFixed(0)} ms`,
    );
    const idle = await timesOf(() => rollUpAll(shard, siteConfig('Europe/London')));
    print(`nothing new: ${idle.runs} statements, ${idle.cpuMs.toFixed(1)} ms of CPU`);
    return [
      {
        name: `late reading: ${STATEMENTS_MAX} statements, times its own`,
        ratio: STATEMENTS_MAX / late.runs,
        ratioMin: 1,
      },
      {
        name: `late reading: ${LATE_CPU_MS_MAX} ms of CPU, times its own`,
        ratio: LATE_CPU_MS_MAX / late.cpuMs,
        ratioMin: 1,
      },
      {
        name: 'nothing new: 1 where no statement is run',
        ratio: 1 / (1 + idle.runs),
        ratioMin: 1,
      },
      {
        name: 'first roll-up: CPU of a full one of stored readings, times its own',
        ratio: full.cpuMs / first.cpuMs,
        ratioMin: 0.25,
      },
    ];
  });
}

async function benchNights(folder: string, print: (line: string) => void): Promise<Ratio> {
  const late: Work[] = [];
  for (const zeroAtNight of [false, true]) {
    const one = await withSite(join(folder, `nights-${zeroAtNight}`), async (shard) => {
      await fillSite(shard, { ...nights, zeroAtNight });
      await rollUpAll(shard, siteConfig());
      return lateReadings(shard, 'Europe/Paris', true);
    });
    late.push(one);
  }
  const [without, zeros] = late as [Work, Work];
  print(
    `a late reading in three years of 100 devices: ${without.cpuMs.toFixed(0)} ms of CPU; where they show 0 every night ${zeros.cpuMs.toFixed(0)} ms, ${zeros.runs} statements`,
  );
  return {
    name: 'zeros every night: CPU of a late reading without them, times its own',
    ratio: without.cpuMs / zeros.cpuMs,
    ratioMin: 0.8,
  };
}

async function benchMoved(folder: string, print: (line: string) => void): Promise<Ratio> {
  return withSite(folder, async (shard) => {
    const learnt = siteConfig('Europe/Paris', null);
    await fillSite(shard, month);
    await rollUpAll(shard, learnt);
    // Three days before them come late and are much busier: the limits of all the others move.
    await fillSite(shard, {
      ...month,
      fromDay: 0,
      readings: (month.readings * 3) / 28,
      growthTimes: 4,
      firstBatchId: 1_000,
    });
    let longestMs = 0;
    const all = await timesOf(async () => {
      longestMs = await rollUpAll(shard, learnt);
    });
    print(
      `limits of 200 devices move on 28 days: longest call ${longestMs.toFixed(0)} ms, all of them ${all.ms.toFixed(0)} ms, ${all.runs} statements`,
    );
    return {
      name: `moved limits: ${STEP_MS_MAX / 1_000} s, times the longest call`,
      ratio: STEP_MS_MAX / longestMs,
      ratioMin: 1,
    };
  });
}

/** Late readings of many devices, one after the other, on days in a row. @returns the middle one of each figure */
async function lateReadings(shard: Shard, timezone: string, halfway = false): Promise<Work> {
  const works: Work[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await addLateReading(shard, {
      device: 5 * round + 3,
      afterMs: (100 + round) * 86_400_000 + 41_234_567,
      batchId: 1_000_000 + round,
      halfway,
    });
    works.push(await timesOf(() => rollUpAll(shard, siteConfig(timezone))));
  }
  const middle = (key: keyof Work) => works.map((work) => work[key]).toSorted((a, b) => a - b)[ROUNDS >> 1]!;
  return { runs: middle('runs'), cpuMs: middle('cpuMs'), ms: middle('ms') };
}

async function withSite<Result>(folder: string, work: (shard: Shard) => Promise<Result>): Promise<Result> {
  const shard = await openSite(folder, { memoryMegabytes: MEMORY_MEGABYTES, threads: THREADS });
  try {
    return await work(shard);
  } finally {
    await shard.close();
  }
}

function perMillion({ cpuMs, ms }: Work, millions: number): string {
  return `${(cpuMs / 1_000 / millions).toFixed(2)} s of CPU a million (${(ms / 1_000).toFixed(1)} s in all)`;
}

/** Looks at the memory of the process while DuckDB works on threads of its own. */
export function watchMemory(): { peakMegabytes: () => number } {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMegabytes());
  }, 20).unref();
  return {
    peakMegabytes: () => {
      clearInterval(timer);
      return peak;
    },
  };
}

export function residentMegabytes(): number {
  return process.memoryUsage.rss() / 1_048_576;
}
