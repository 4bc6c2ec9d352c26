import { type DayBounds, HOUR_MS, type UtcMs } from '../../src/lib/time.ts';
import type { Field } from './configurations.ts';
import { type Draft, type DraftSample, type Span, within } from './draft.ts';
import { stepWhOf } from './plan.ts';
import { intervalOf } from './samples.ts';

/** The truth about a local day, and how well the readings show it. */
export interface TrueDay extends DayBounds {
  /**
   * The true energy (Wh) lies between these. They differ on the first and the last day, because an answer may
   * count the time with readings or the whole day. They also differ if two devices send as one.
   */
  lowWh: number;
  highWh: number;
  /**
   * The largest difference (Wh) of an answer without any mistake. It follows from the steps of the register
   * and from the time between samples.
   */
  allowanceWh: number;
  /** True if some field still shows the energy of the day, so that a near answer is possible. */
  isKnowable: boolean;
  /** For a day that cannot be known: true if the readings show that something is wrong. */
  isSeen: boolean;
}

/** The largest differences (Wh) with which an answer counts as exact, and as near. */
export const exactWh = (truthWh: number): number => Math.max(50, 0.01 * truthWh);
export const nearWh = (truthWh: number): number => Math.max(200, 0.05 * truthWh);

/**
 * The local days of a recording, with the truth.
 * @param clean the same recording without its faults. It shows what cannot be known from its samples, which
 *   is not a fault
 */
export function trueDays(draft: Draft, clean: Draft): TrueDay[] {
  const { curve, days, fields } = draft.plan;
  const first = draft.samples.reduce((ms, { atMs }) => Math.min(ms, atMs), Number.POSITIVE_INFINITY);
  const last = draft.samples.reduce((ms, { atMs }) => Math.max(ms, atMs), Number.NEGATIVE_INFINITY);
  const witnesses = fields.map((field) => ({
    field,
    withFaults: witnessOf(draft, field),
    without: witnessOf(clean, field),
  }));
  // Days before the first reading and after the last one are not judged.
  const recorded = days.filter(({ startMs, endMs }) => endMs > first && startMs < last);
  return recorded.map((day): TrueDay => {
    const wholeWh = curve.energyWh(day.startMs, day.endMs);
    const [fromMs, toMs] = [Math.max(first, day.startMs), Math.min(last, day.endMs)];
    const seenWh = curve.energyWh(fromMs, toMs);
    const { low, high } = ambiguityOf(draft, day);
    const known = witnesses.flatMap(({ field, withFaults, without }) => {
      const errorWh = outside(withFaults(day), seenWh, wholeWh);
      const openWh = outside(without(day), seenWh, wholeWh);
      return errorWh <= nearWh(wholeWh) + openWh ? [{ field, errorWh }] : [];
    });
    return {
      ...day,
      lowWh: seenWh * low,
      highWh: wholeWh * high,
      allowanceWh: allowanceOf(draft, known),
      isKnowable: known.length > 0 && high === 1,
      isSeen: !draft.unseen.some(({ fromMs, toMs }) => fromMs < day.endMs && toMs > day.startMs),
    };
  });
}

/**
 * If there is a lifetime register, it decides, because it is the first method. Otherwise the best field
 * decides. A register shows whole steps.
 */
function allowanceOf({ plan }: Draft, known: ReadonlyArray<{ field: Field; errorWh: number }>): number {
  const first = known[0];
  if (!first) return 0;
  const steps = {
    total: stepWhOf(plan.total),
    daily: stepWhOf(plan.daily),
    power: 0,
    energy: stepWhOf(plan.total),
  };
  const errors = first.field === 'total' ? [first] : known;
  return steps[first.field] + Math.min(...errors.map(({ errorWh }) => errorWh));
}

function ambiguityOf({ ambiguous }: Draft, day: DayBounds): { low: number; high: number } {
  const touching = ambiguous.find(({ fromMs, toMs }) => fromMs < day.endMs && toMs > day.startMs);
  return touching ?? { low: 1, high: 1 };
}

function outside(valueWh: number, lowWh: number, highWh: number): number {
  return Math.max(0, lowWh - valueWh, valueWh - highWh);
}

/**
 * The energy of a day (Wh) that a field shows alone, if all its wrong values are left out and no mistake is
 * made.
 */
function witnessOf(draft: Draft, field: Field): (day: DayBounds) => number {
  const hidden = draft.hidden.filter((span) => span.field === field);
  const samples = draft.samples
    .filter(({ atMs }) => !hidden.some((span) => within(span, atMs)))
    .sort((one, other) => one.atMs - other.atMs)
    // A repeated reading shows nothing new.
    .filter(({ atMs }, index, sorted) => atMs !== sorted[index - 1]?.atMs);
  return field === 'total' || field === 'daily'
    ? registerWitness(draft, field, samples)
    : powerWitness(draft, field, samples);
}

/**
 * Straight lines between good readings. Energy between the last reading before a reset and the reset is lost.
 * Energy that was never counted is lost too.
 */
function registerWitness(draft: Draft, field: 'total' | 'daily', samples: readonly DraftSample[]) {
  const { curve } = draft.plan;
  const times = samples.map(({ atMs }) => atMs);
  const lost: Span[] = draft.uncounted.filter((span) => span.field === field);
  const resets = draft.resetsMs[field].toSorted((one, other) => one - other);
  for (const [index, toMs] of resets.entries()) {
    // At the time of the reset the register already shows zero.
    const fromMs = times[countTo(times, toMs - 1) - 1];
    if (fromMs !== undefined) lost.push({ fromMs: Math.max(fromMs, resets[index - 1] ?? fromMs), toMs });
  }
  const indexWh = (atMs: UtcMs): number => {
    const next = countTo(times, atMs);
    const [before, after] = [times[next - 1], times[next]];
    if (before === undefined || after === undefined) {
      const edge = before ?? after;
      return edge === undefined ? 0 : curve.energyWh(curve.startMs, edge);
    }
    const share = (atMs - before) / (after - before);
    return curve.energyWh(curve.startMs, before) + share * curve.energyWh(before, after);
  };
  return (day: DayBounds): number => {
    const lostWh = lost.map(({ fromMs, toMs }) => {
      const [start, end] = [Math.max(fromMs, day.startMs), Math.min(toMs, day.endMs)];
      return start < end ? curve.energyWh(start, end) : 0;
    });
    return indexWh(day.endMs) - indexWh(day.startMs) - lostWh.reduce((sum, wh) => sum + wh, 0);
  };
}

/** Straight lines between good samples that are close together. An average covers its own step. */
function powerWitness({ plan }: Draft, field: 'power' | 'energy', samples: readonly DraftSample[]) {
  const { curve, everyMs, sampling } = plan;
  const pieces =
    field === 'power' && sampling === 'instantaneous'
      ? samples.slice(1).flatMap(({ atMs: toMs }, index) => {
          const fromMs = samples[index]!.atMs;
          const [from, to] = [curve.powerW(fromMs), curve.powerW(toMs)];
          return toMs - fromMs > 3 * everyMs ? [] : [{ fromMs, toMs, from, to }];
        })
      : samples.map(({ atMs }) => {
          const { fromMs, toMs } = intervalOf(plan, atMs);
          const meanW = (curve.energyWh(fromMs, toMs) * HOUR_MS) / everyMs;
          return { fromMs, toMs, from: meanW, to: meanW };
        });
  return (day: DayBounds): number =>
    pieces.reduce((sum, { fromMs, toMs, from, to }) => {
      const [start, end] = [Math.max(fromMs, day.startMs), Math.min(toMs, day.endMs)];
      if (start >= end) return sum;
      const at = (ms: UtcMs) => from + ((to - from) * (ms - fromMs)) / (toMs - fromMs);
      return sum + (((at(start) + at(end)) / 2) * (end - start)) / HOUR_MS;
    }, 0);
}

/** How many of the sorted times are at or before an instant. */
function countTo(times: readonly UtcMs[], atMs: UtcMs): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
