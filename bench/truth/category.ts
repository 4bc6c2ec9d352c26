import { HOUR_MS, type LocalDate } from '../../src/lib/time.ts';
import { exactWh, nearWh, type TrueDay } from './knowledge.ts';
import type { Answer } from './roll-up.ts';

/** How an answer compares with the truth, the best first. */
export const categories = ['exact', 'near', 'flagged', 'silent', 'absurd', 'missing', 'thrown'] as const;
export type Category = (typeof categories)[number];

/**
 * Flags that only say how a right answer was found. Every other flag says that the energy of the day may be
 * wrong.
 */
export const plainFlags: ReadonlySet<string> = new Set(['jitter', 'rollover', 'carry_over']);

export function saysDoubt(flags: readonly string[]): boolean {
  return flags.some((flag) => !plainFlags.has(flag));
}

/** An answer is absurd if it is more than this many times the truth, and more than this many Wh above it. */
const ABSURD_TIMES = 3;
const ABSURD_WH = 1_000;

/**
 * - exact: within 1 % or 50 Wh; near: within 5 % or 200 Wh; both in addition to what an answer without any
 *   mistake may be off by
 * - absurd: more than 3 times a truth that can be known and more than a kWh above it, more than the installed
 *   power can give in the day, or below -1 kWh
 * - flagged, silent: another wrong answer, with or without a flag that says doubt
 * - missing: no answer for more than 50 Wh
 *
 * @param answer undefined where the roll-up has no row for the day
 */
export function categorize(day: TrueDay, installedW: number, answer: Answer | undefined): Category {
  const { lowWh, highWh, allowanceWh, isKnowable } = day;
  if (!answer) return lowWh > 50 + allowanceWh ? 'missing' : 'exact';
  const { energyWh, flags } = answer;
  const offWh = Math.max(0, lowWh - energyWh, energyWh - highWh) - allowanceWh;
  if (offWh <= exactWh(highWh)) return 'exact';
  if (offWh <= nearWh(highWh)) return 'near';
  const possibleWh = (installedW * (day.endMs - day.startMs)) / HOUR_MS;
  const isAbsurd =
    // If a day is not known, its share of a gap can be a multiple of the truth. That is not absurd.
    (isKnowable && energyWh > ABSURD_TIMES * highWh && energyWh - highWh > ABSURD_WH) ||
    energyWh > possibleWh + allowanceWh ||
    energyWh < -ABSURD_WH;
  if (isAbsurd) return 'absurd';
  return saysDoubt(flags) ? 'flagged' : 'silent';
}

/**
 * True if the answer is as good as it can be. If the day cannot be known, the answer must have a flag of
 * doubt, or be missing.
 */
export function isAcceptable(category: Category, { isKnowable, isSeen }: TrueDay): boolean {
  if (category === 'silent') return !isKnowable && !isSeen;
  const accepted: readonly Category[] = isKnowable
    ? ['exact', 'near']
    : ['exact', 'near', 'flagged', 'missing'];
  return accepted.includes(category);
}

/** A day that lies outside of a recording, though the roll-up has energy for it. */
export function strayDay(day: LocalDate): TrueDay {
  return {
    day,
    startMs: 0,
    endMs: 25 * HOUR_MS,
    lowWh: 0,
    highWh: 0,
    allowanceWh: 0,
    isKnowable: true,
    isSeen: true,
  };
}
