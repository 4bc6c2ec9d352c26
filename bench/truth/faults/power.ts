import { HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, hide, nightsOf, type Span, samplesIn, wholeSpan } from '../draft.ts';
import { type Fault, hasPower, hasPowerOnly } from './fault.ts';
import { hideSample, round, singles } from './wrong-values.ts';

/** What goes wrong in samples of power. */
export const powerFaults: readonly Fault[] = [
  {
    name: 'hourly with jitter',
    on: 'device',
    takesManyForms: true,
    fits: hasPowerOnly,
    wants: { everyMs: [HOUR_MS], jitter: ['seconds', 'share', 'slow'] },
    apply: hourlyWithJitter,
  },
  { name: 'power stuck', on: 'device', fits: hasPower, apply: powerStuck },
  {
    name: 'power negative at night',
    on: 'device',
    fits: hasPower,
    wants: { deviceKinds: ['solar', 'solar', 'wind'], sleeps: false },
    apply: powerNegativeAtNight,
  },
  { name: 'power spikes', on: 'values', fits: hasPower, apply: powerSpikes },
  { name: 'power in another unit', on: 'values', fits: hasPower, apply: powerInOtherUnit },
];

/** Power shows one value for hours. */
function powerStuck(draft: Draft, chance: Chance): Span[] {
  const span = activeSpan(draft, chance, chance.whole('hours', 2, 10));
  const [first, ...others] = samplesIn(draft, span);
  for (const sample of others) sample.powerW = first!.powerW;
  hide(draft, ['power'], span);
  return [span];
}

/** Power is a little below zero while the device has no power. */
function powerNegativeAtNight(draft: Draft, chance: Chance): Span[] {
  const mostW = Math.max(3, draft.plan.device.installedW * 0.002);
  for (const [index, sample] of draft.samples.entries())
    if (sample.powerW === 0) sample.powerW = -chance.between('noise', 0, mostW, index);
  return nightsOf(draft);
}

/** Single readings of power are much too high, or have all bits of a word set. */
function powerSpikes(draft: Draft, chance: Chance): Span[] {
  const { device, powerUnit } = draft.plan;
  const factor = powerUnit === 'kW' ? 1_000 : 1;
  return singles(draft, chance, chance.whole('readings', 1, 6)).map((sample, index) => {
    const highW = device.installedW * chance.magnitude(`high ${index}`, 2, 1_000);
    sample.data.power = chance.isTrue('word', 0.2, index)
      ? chance.pick('bits', [32_767, 65_535])
      : round(highW / factor);
    return hideSample(draft, ['power'], sample);
  });
}

/** For hours or days power is sent in kW although the stream says W, or in W although it says kW. */
function powerInOtherUnit(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 1);
  const span = { fromMs, toMs: fromMs + chance.whole('hours', 3, 72) * HOUR_MS };
  const factor = draft.plan.powerUnit === 'W' ? 0.001 : 1_000;
  for (const sample of samplesIn(draft, span)) sample.data.power = round(Number(sample.data.power) * factor);
  hide(draft, ['power'], span);
  return [span];
}

/** Most readings are a little more than an hour apart. This is a part of the plan of the recording. */
function hourlyWithJitter(draft: Draft): Span[] {
  return [wholeSpan(draft)];
}
