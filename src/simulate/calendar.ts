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

/** One local day of a site, with the counters at its beginning. */
export interface SiteDay {
  bounds: DayBounds;
  /** Days since the first day of the site. */
  dayNumber: number;
  /** In the order of the plan: the sources of each device, one after another. */
  series: SeriesDay[];
  registers: Registers;
  /** The whole Wh of the day before, by series; 0 on the first day. */
  dayBeforeWh: number[];
}

/** By series, in Wh: the count since the first day, and the count at the last reset to zero. */
export interface Registers {
  countedWh: number[];
  zeroAtWh: number[];
}

/** Recent days are kept, because neighbouring days are needed together. */
const DAYS_KEPT = 4;

export interface Calendar {
  firstDay: LocalDate;
  /** @param day the first day of the site, or a later one */
  dayOf(day: LocalDate): SiteDay;
  boundsOf(day: LocalDate): DayBounds;
}

/**
 * Creates the days of a site. Each day is computed when it is first needed, after all earlier days, because
 * counters continue from day to day.
 */
export function createCalendar(
  plan: SitePlan,
  timezone: string,
  startMs: UtcMs,
  readingEveryMs: number,
): Calendar {
  const firstDay = localDateOf(startMs, timezone);
  const siteDays = new LRUCache<LocalDate, SiteDay>({ max: DAYS_KEPT });
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
      const found = siteDays.get(day);
      if (found) return found;
      const dayNumber = daysBetween(firstDay, day);
      if (dayNumber < 0) throw new RangeError(`the site begins on ${firstDay}`);
      for (let known = Math.max(0, registersByDay.length - 1); known < dayNumber; known++) compute(known);
      const made = compute(dayNumber);
      siteDays.set(day, made);
      return made;
    },
  };
}

/** The value of a lifetime register at a reading: the count since its last reset. */
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
