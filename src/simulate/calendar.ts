import { LRUCache } from 'lru-cache';
import {
  addDays,
  type DayBounds,
  dayBounds,
  daysBetween,
  type LocalDate,
  localDateOf,
  type UtcMs,
} from '../lib/time.ts';
import { modelDay, type SeriesDay } from './model-day.ts';
import type { SitePlan } from './plan-site.ts';

/** One local day of a site, with what its counters had reached when it began. */
export interface SiteDay {
  bounds: DayBounds;
  /** Days since the site's first. */
  dayNumber: number;
  /** In the order of the plan: each device's sources, one after another. */
  series: SeriesDay[];
  registers: Registers;
  /** The whole Wh of the day before, by series; 0 on the first. */
  dayBeforeWh: number[];
}

/** By series (Wh): what was counted from the site's first day on, and the count at which the register showed zero. */
export interface Registers {
  countedWh: number[];
  zeroAtWh: number[];
}

/** Computed days are kept for a while: neighbours are asked for together. */
const DAYS_KEPT = 4;

export interface Calendar {
  firstDay: LocalDate;
  /** @param day the site's first or a later one */
  dayOf(day: LocalDate): SiteDay;
  boundsOf(day: LocalDate): DayBounds;
}

/** The days of a site, each computed when it is asked for. Counters run on from day to day, so earlier days come first. */
export function createCalendar(
  plan: SitePlan,
  timezone: string,
  startMs: UtcMs,
  readingEveryMs: number,
): Calendar {
  const firstDay = localDateOf(startMs, timezone);
  const kept = new LRUCache<LocalDate, SiteDay>({ max: DAYS_KEPT });
  const registersByDay: Registers[] = [];

  function boundsOf(day: LocalDate): DayBounds {
    return dayBounds(day, day, timezone)[0]!;
  }

  function compute(dayNumber: number): SiteDay {
    const bounds = boundsOf(addDays(firstDay, dayNumber));
    const series = modelDay(plan, bounds, dayNumber, readingEveryMs, startMs);
    registersByDay[0] ??= {
      countedWh: series.map(() => 0),
      zeroAtWh: series.map(({ source }) => -source.initialWh),
    };
    const registers = registersByDay[dayNumber]!;
    registersByDay[dayNumber + 1] ??= registersAfter(series, registers);
    const before = registersByDay[Math.max(0, dayNumber - 1)]!;
    const dayBeforeWh = registers.countedWh.map((wh, number) => wh - before.countedWh[number]!);
    return { bounds, dayNumber, series, registers, dayBeforeWh };
  }

  return {
    firstDay,
    boundsOf,
    dayOf(day) {
      const found = kept.get(day);
      if (found) return found;
      const dayNumber = daysBetween(firstDay, day);
      if (dayNumber < 0) throw new RangeError(`the site begins on ${firstDay}`);
      for (let known = Math.max(0, registersByDay.length - 1); known < dayNumber; known++) compute(known);
      const made = compute(dayNumber);
      kept.set(day, made);
      return made;
    },
  };
}

/** What a lifetime register shows at a reading: all that was counted since it last showed zero. */
export function registerWh({ series, registers }: SiteDay, number: number, index: number): number {
  const { growthWh, restartAfter } = series[number]!;
  const growth = growthWh[index]!;
  if (restartAfter !== undefined && index > restartAfter) return growth - growthWh[restartAfter]!;
  return registers.countedWh[number]! + growth - registers.zeroAtWh[number]!;
}

function registersAfter(series: SeriesDay[], { countedWh, zeroAtWh }: Registers): Registers {
  return {
    countedWh: series.map(({ totalWh }, number) => countedWh[number]! + totalWh),
    zeroAtWh: series.map(({ restartAfter, growthWh }, number) =>
      restartAfter === undefined ? zeroAtWh[number]! : countedWh[number]! + growthWh[restartAfter]!,
    ),
  };
}
