import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, type UtcMs } from '../../src/lib/time.ts';
import { beginMsOf, type DailyReset, type Plan, stepWhOf } from './plan.ts';

/** The values that a device measures at one time. Only the fields of the configuration are sent. */
export interface Sample {
  /** When it was measured. */
  atMs: UtcMs;
  totalWh: number;
  dailyWh: number;
  powerW: number;
  /** The energy of the interval that the label names. */
  energyWh: number;
}

/** The samples of a device without faults, in the order of time. */
export function cleanSamples(plan: Plan, dailyResetsMs: readonly UtcMs[]): Sample[] {
  const { curve, everyMs, sleeps } = plan;
  const sinceMs = curve.startMs;
  let reset = -1;
  return sampleTimes(plan)
    .filter((atMs) => !sleeps || curve.powerW(atMs) > 0)
    .map((atMs) => {
      while (reset + 1 < dailyResetsMs.length && dailyResetsMs[reset + 1]! <= atMs) reset++;
      const { fromMs, toMs } = intervalOf(plan, atMs);
      const stepWh = stepWhOf(plan.total);
      const displayedWh = (ms: UtcMs) =>
        Math.floor((plan.startWh + curve.energyWh(sinceMs, ms)) / stepWh) * stepWh;
      return {
        atMs,
        totalWh: plan.startWh + curve.energyWh(sinceMs, atMs),
        dailyWh: curve.energyWh(dailyResetsMs[reset] ?? sinceMs, atMs),
        powerW:
          plan.sampling === 'instantaneous'
            ? curve.powerW(atMs)
            : (curve.energyWh(fromMs, toMs) * HOUR_MS) / everyMs,
        // Energy that is less than one step is added to the next interval.
        energyWh: displayedWh(toMs) - displayedWh(fromMs),
      };
    });
}

/** Stamps are whole seconds and each is later than the one before. */
function sampleTimes(plan: Plan): UtcMs[] {
  const { chance, everyMs, jitter, days, fields } = plan;
  const begin = beginMsOf(plan);
  const midnight = days[0]!.startMs;
  const isOnGrid = jitter === 'none' || plan.begins === 'dawn';
  const firstMs =
    jitter === 'none'
      ? midnight + Math.ceil((begin - midnight) / everyMs) * everyMs
      : begin + (isOnGrid ? 0 : chance.between('phase', 0, everyMs));
  const secondsMs = Math.min(2 * SECOND_MS, everyMs / 4);
  const reachMs = { none: 0, seconds: secondsMs, share: everyMs * 0.08, slow: 0 }[jitter];
  const stepMs = everyMs + (jitter === 'slow' ? chance.between('slow by', secondsMs, everyMs * 0.008) : 0);
  const isInterval = fields.some(
    (field) => field === 'energy' || (field === 'power' && plan.sampling === 'interval_average'),
  );
  const times: UtcMs[] = [];
  for (let index = 0; firstMs + index * stepMs <= days.at(-1)!.endMs; index++) {
    const offMs = chance.between('off', -reachMs, reachMs, index);
    const atMs = Math.round((firstMs + index * stepMs + offMs) / SECOND_MS) * SECOND_MS;
    const { fromMs, toMs } = isInterval ? intervalOf(plan, atMs) : { fromMs: atMs, toMs: atMs };
    if (fromMs >= midnight && toMs <= days.at(-1)!.endMs && atMs > (times.at(-1) ?? 0)) times.push(atMs);
  }
  return times;
}

/** The time that a mean or an energy covers, by its label. */
export function intervalOf({ label, everyMs }: Pick<Plan, 'label' | 'everyMs'>, atMs: UtcMs) {
  return label === 'end' ? { fromMs: atMs - everyMs, toMs: atMs } : { fromMs: atMs, toMs: atMs + everyMs };
}

/** The times at which a daily register starts again from zero. The first one is before the first day. */
export function dailyResets({ curve, days }: Plan, when: DailyReset): UtcMs[] {
  const bounds = days.map(({ startMs }) => startMs);
  const before = bounds[0]! - DAY_MS;
  switch (when) {
    case 'midnight':
      return [before, ...bounds];
    case 'wake_up':
      return [before, ...bounds.flatMap((startMs) => wakeUpMs(curve, startMs) ?? [])];
    case 'noon':
      return [before, ...bounds].map((startMs) => startMs + 12 * HOUR_MS);
    case 'utc_midnight':
      return [before, ...bounds].map((startMs) => Math.ceil(startMs / DAY_MS) * DAY_MS);
    default:
      return when satisfies never;
  }
}

/**
 * The first minute with power after a minute without power, on a local day; undefined if there is no such
 * minute.
 */
export function wakeUpMs(curve: Plan['curve'], dayStartMs: UtcMs): UtcMs | undefined {
  for (let atMs = dayStartMs; atMs < dayStartMs + DAY_MS; atMs += MINUTE_MS)
    if (curve.powerW(atMs) > 0 && curve.powerW(atMs - MINUTE_MS) === 0) return atMs;
  return undefined;
}
