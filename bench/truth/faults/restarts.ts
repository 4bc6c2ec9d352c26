import { HOUR_MS, MINUTE_MS, type UtcMs } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, dailyWhOf, innerDay, nightsOf, type Span } from '../draft.ts';
import { solarOnly, usualStepsMs } from './common.ts';
import { type Fault, hasTotal } from './fault.ts';

/** Lifetime registers that really start again. */
export const restartFaults: readonly Fault[] = [
  { name: 'reset by day', on: 'device', fits: hasTotal, apply: resetByDay },
  { name: 'reset by night', on: 'device', fits: hasTotal, apply: resetByNight },
  { name: 'replaced meter', on: 'device', fits: hasTotal, apply: replacedMeter },
  {
    name: 'restarts each morning',
    on: 'device',
    fits: hasTotal,
    wants: { deviceKinds: solarOnly, everyMs: usualStepsMs },
    apply: restartsEachMorning,
  },
];

/** A real reset in the middle of the day. */
function resetByDay(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 2);
  return restart(draft, fromMs + chance.whole('minute', 0, 119) * MINUTE_MS, 0);
}

/** A real reset in the night. */
function resetByNight(draft: Draft, chance: Chance): Span[] {
  const { fromMs, toMs } = nightsOf(draft)[innerDay(draft, chance) - 1]!;
  return restart(draft, Math.round(chance.between('share', fromMs, toMs)), 0);
}

/** The meter is replaced. After some time without readings, the new one starts at a higher or lower value. */
function replacedMeter(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 2);
  const toMs = fromMs + chance.whole('minutes', 10, 120) * MINUTE_MS;
  draft.samples = draft.samples.filter(({ atMs }) => atMs < fromMs || atMs >= toMs);
  restart(draft, toMs, chance.magnitude('initial', 0.05, 2_000) * dailyWhOf(draft));
  return [{ fromMs, toMs }];
}

/** From some day on, the lifetime register counts from zero each morning. */
function restartsEachMorning(draft: Draft, chance: Chance): Span[] {
  const from = chance.isTrue('from the first day', 0.5) ? 0 : innerDay(draft, chance);
  const mornings = nightsOf(draft)
    .map(({ toMs }) => toMs)
    .slice(from);
  for (const atMs of mornings) restart(draft, atMs, 0);
  return mornings.map((fromMs) => ({ fromMs, toMs: fromMs + HOUR_MS }));
}

function restart(draft: Draft, atMs: UtcMs, initialWh: number): Span[] {
  const { curve } = draft.plan;
  for (const sample of draft.samples)
    if (sample.atMs >= atMs) sample.totalWh = initialWh + curve.energyWh(atMs, sample.atMs);
  draft.resetsMs.total.push(atMs);
  return [{ fromMs: atMs, toMs: atMs + MINUTE_MS }];
}
