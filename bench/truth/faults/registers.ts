import { HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, dailyWhOf, hide, nightsOf, type Span, samplesIn } from '../draft.ts';
import { type Display, stepWhOf } from '../plan.ts';
import { solarOnly, usualStepsMs } from './common.ts';
import { type Fault, hasTotal } from './fault.ts';

const fine: readonly Display[] = [
  { unit: 'Wh', decimals: 0 },
  { unit: 'kWh', decimals: 2 },
];

/** Faults of a lifetime register that continues to count. */
export const registerFaults: readonly Fault[] = [
  {
    name: 'night drift',
    on: 'device',
    takesManyForms: true,
    fits: hasTotal,
    // After a night of silence, the register can have counted up to a small value again.
    wants: { displays: fine, sleeps: true, isYoung: true },
    apply: nightDrift,
  },
  { name: 'falling jitter', on: 'device', fits: hasTotal, wants: { displays: fine }, apply: fallingJitter },
  { name: 'rollover', on: 'device', fits: hasTotal, onlyFirst: true, apply: rollover },
  {
    name: 'wakes up low',
    on: 'device',
    fits: hasTotal,
    wants: { deviceKinds: solarOnly, everyMs: usualStepsMs },
    apply: wakesUpLow,
  },
];

/** The lifetime register falls a little in the night: 79,862 in the evening, 79,850 in the morning. */
function nightDrift(draft: Draft, chance: Chance): Span[] {
  const stepWh = stepWhOf(draft.plan.total);
  return nightsOf(draft).flatMap((night, index) => {
    const middleMs = (night.fromMs + night.toMs) / 2;
    const place = draft.samples.findIndex(({ atMs }) => atMs >= middleMs);
    if (place < 1 || !chance.isTrue('drifts', 0.6, index)) return [];
    // The fall is larger than the energy until the first reading of the morning, so it stays visible.
    const grownWh = draft.samples[place]!.totalWh - draft.samples[place - 1]!.totalWh;
    const sunkWh = grownWh + stepWh * chance.whole('steps', 3, Math.max(3, Math.floor(40 / stepWh)), index);
    for (const sample of draft.samples.slice(place)) sample.totalWh = Math.max(0, sample.totalWh - sunkWh);
    return [night];
  });
}

/** The register moves up and down by a few of its own steps. */
function fallingJitter(draft: Draft, chance: Chance): Span[] {
  const stepWh = stepWhOf(draft.plan.total);
  for (const [index, sample] of draft.samples.entries())
    sample.totalWh = Math.max(0, sample.totalWh - stepWh * chance.whole('steps', 0, 3, index));
  return [{ fromMs: draft.plan.days[0]!.startMs, toMs: draft.plan.days.at(-1)!.endMs }];
}

/**
 * After the device wakes up, the register first shows the energy since then, and later its lifetime value.
 */
function wakesUpLow(draft: Draft, chance: Chance): Span[] {
  const { curve } = draft.plan;
  return nightsOf(draft).flatMap(({ toMs }, night) => {
    if (!chance.isTrue('night', 0.6, night)) return [];
    const low = samplesIn(draft, { fromMs: toMs, toMs: toMs + 12 * HOUR_MS }).slice(
      0,
      chance.whole('readings', 1, 4, night),
    );
    for (const sample of low) sample.totalWh = curve.energyWh(toMs, sample.atMs);
    const span = { fromMs: toMs, toMs: (low.at(-1)?.atMs ?? toMs) + 1 };
    hide(draft, ['total'], span);
    return [span];
  });
}

/** The register passes its largest value and continues from zero. The modulus is configured. */
function rollover(draft: Draft, chance: Chance): Span[] {
  const { plan, samples } = draft;
  const factor = plan.total.unit === 'kWh' ? 1_000 : 1;
  const modulus = 10 ** Math.ceil(Math.log10((20 * dailyWhOf(draft)) / factor));
  const { fromMs } = activeSpan(draft, chance, 4);
  const startWh = modulus * factor - plan.curve.energyWh(plan.curve.startMs, fromMs + HOUR_MS);
  for (const sample of samples)
    sample.totalWh = (startWh + plan.curve.energyWh(plan.curve.startMs, sample.atMs)) % (modulus * factor);
  draft.streams = draft.streams.map((stream) =>
    stream.method === 'total_energy' ? { ...stream, modulus } : stream,
  );
  return [{ fromMs, toMs: fromMs + 2 * HOUR_MS }];
}
