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
import { residentMegabytes, watchMemory } from './watch-memory.ts';

/**
 * One part of the benchmark of the cost of the roll-up, in a separate process: its arguments are the part, an
 * empty folder for the warehouse and the limit of its memory (MB). It sends what it has measured, and ends.
 */
export interface Measured {
  /** The line that is printed for a person. */
  lines: string[];
  ratios: Ratio[];
  /** The CPU time of a late reading, if another part of the benchmark is compared with it. */
  lateCpuMs?: number;
  /** The peak of the memory of the process, minus its memory before the warehouse was opened. */
  takenMegabytes: number;
}

type Work = Omit<Times, 'statements'>;
type Part = (shard: Shard) => Promise<Omit<Measured, 'takenMegabytes'>>;

const THREADS = 2;
const ROUNDS = 15;

const STATEMENTS_MAX = 40;
const LATE_CPU_MS_MAX = 60;
const STEP_MS_MAX = 2_000;

const hourly = { stepMs: 3_600_000, batch: 250_000 };
const year: RegisterSite = { ...hourly, devices: 1_000, readings: 8_760_000 };
const threeYears: RegisterSite = { ...hourly, devices: 100, readings: 2_628_000 };
/**
 * Four weeks with a reading every five minutes: 1.6 million readings. The limits of all these days also
 * follow from the three days before them.
 */
const month: RegisterSite = {
  stepMs: 300_000,
  batch: 250_000,
  devices: 200,
  readings: 1_612_800,
  fromDay: 3,
};

const parts = {
  /** A year of a thousand devices: the first roll-up, a full one, late readings, and nothing new. */
  year: measureYear,
  /**
   * Late readings in three years of a hundred devices that only grow, and of a hundred that show 0 every
   * night.
   */
  growing: (shard) => measureNights(shard, false),
  zeros: (shard) => measureNights(shard, true),
  /** A limit that changes on four weeks of days of many devices. */
  moved: measureMoved,
} satisfies Record<string, Part>;

export type PartName = keyof typeof parts;

const [name, folder, memoryMegabytes] = process.argv.slice(2) as [PartName, string, string];
const beforeMegabytes = residentMegabytes();
const memory = watchMemory();
const shard = await openSite(folder, { memoryMegabytes: Number(memoryMegabytes), threads: THREADS });
const measured = await parts[name](shard);
await shard.close();
process.send!({ ...measured, takenMegabytes: memory.peakMegabytes() - beforeMegabytes } satisfies Measured);
process.disconnect();

async function measureYear(shard: Shard): ReturnType<Part> {
  await fillSite(shard, year);
  const first = await timesOf(() => rollUpAll(shard, siteConfig()));
  const full = await timesOf(() => rollUpAll(shard, siteConfig('Europe/London')));
  const millions = year.readings / 1e6;
  const late = await lateReadings(shard, 'Europe/London');
  const idle = await timesOf(() => rollUpAll(shard, siteConfig('Europe/London')));
  return {
    lines: [
      `a year of 1,000 devices: first roll-up ${perMillion(first, millions)}, every reading again ${perMillion(full, millions)}`,
      `a late reading in it: ${describeWork(late)}`,
      `nothing new: ${describeWork(idle)}`,
    ],
    ratios: [
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
    ],
  };
}

async function measureNights(shard: Shard, zeroAtNight: boolean): ReturnType<Part> {
  await fillSite(shard, { ...threeYears, zeroAtNight });
  await rollUpAll(shard, siteConfig());
  const late = await lateReadings(shard, 'Europe/Paris', true);
  const nights = zeroAtNight ? 'that show 0 every night' : 'that only grow';
  return {
    lines: [`a late reading in three years of 100 devices ${nights}: ${describeWork(late)}`],
    ratios: [],
    lateCpuMs: late.cpuMs,
  };
}

async function measureMoved(shard: Shard): ReturnType<Part> {
  const learnt = siteConfig('Europe/Paris', null);
  await fillSite(shard, month);
  await rollUpAll(shard, learnt);
  // The three days before them come late and have much more power, so the limits of all other days change.
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
  return {
    lines: [
      `limits of 200 devices move on 28 days: longest call ${longestMs.toFixed(0)} ms, all of them ${all.ms.toFixed(0)} ms, ${all.runs} statements`,
    ],
    ratios: [
      {
        name: `moved limits: ${STEP_MS_MAX / 1_000} s, times the longest call`,
        ratio: STEP_MS_MAX / longestMs,
        ratioMin: 1,
      },
    ],
  };
}

/**
 * Late readings of many devices, one after the other, on days in a row.
 * @returns the median of each figure
 */
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

function describeWork({ runs, cpuMs, ms }: Work): string {
  return `${runs} statements, ${cpuMs.toFixed(0)} ms of CPU, ${ms.toFixed(0)} ms`;
}

function perMillion({ cpuMs, ms }: Work, millions: number): string {
  return `${(cpuMs / 1_000 / millions).toFixed(2)} s of CPU a million (${(ms / 1_000).toFixed(1)} s in all)`;
}
