import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, type DraftSample, hide, type Span, samplesIn, wholeSpan } from '../draft.ts';
import { always, type Fault } from './fault.ts';

/**
 * Faults between the device and the stream: readings arrive twice, late or in another order, or have the time
 * of a wrong clock.
 */
export const deliveryFaults: readonly Fault[] = [
  { name: 'duplicates', on: 'delivery', fits: always, apply: duplicates },
  { name: 'late delivery', on: 'delivery', fits: always, apply: lateDelivery },
  { name: 'out of order', on: 'delivery', fits: always, apply: outOfOrder },
  { name: 'clock off by an hour', on: 'delivery', fits: always, apply: clockOffByHour },
];

/** Some readings arrive twice or three times, at once or days later. */
function duplicates(draft: Draft, chance: Chance): Span[] {
  const share = chance.between('share', 0.02, 0.4);
  const laterMs = chance.pick('later', [0, 10 * MINUTE_MS, 3 * DAY_MS]);
  draft.samples.push(
    ...draft.samples.flatMap((sample, index): DraftSample[] =>
      chance.isTrue('again', share, index)
        ? Array.from({ length: chance.whole('times', 1, 2, index) }, () => ({
            ...sample,
            arrivesMs: sample.arrivesMs + 1 + Math.round(chance.between('delay', 0, laterMs, index)),
          }))
        : [],
    ),
  );
  return [wholeSpan(draft)];
}

/** All readings of some hours or days arrive together, hours or days later. */
function lateDelivery(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 1);
  const span = { fromMs, toMs: fromMs + chance.whole('hours', 3, 50) * HOUR_MS };
  const delayMs = chance.whole('delay', 1, 120) * HOUR_MS;
  for (const [index, sample] of samplesIn(draft, span).entries())
    sample.arrivesMs = span.toMs + delayMs + index;
  return [span];
}

/** Readings arrive in another order: some come up to an hour or two late. */
function outOfOrder(draft: Draft, chance: Chance): Span[] {
  const mostMs = chance.pick('most', [10 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS]);
  for (const [index, sample] of draft.samples.entries())
    if (chance.isTrue('late', 0.4, index))
      sample.arrivesMs += Math.round(chance.between('delay', 0, mostMs, index));
  return [wholeSpan(draft)];
}

/** The clock of the device is wrong by an hour, for hours or days. Readings of the future are rejected. */
function clockOffByHour(draft: Draft, chance: Chance): Span[] {
  const { fields, days } = draft.plan;
  const { fromMs } = activeSpan(draft, chance, 1);
  const span = { fromMs, toMs: fromMs + chance.whole('hours', 3, 60) * HOUR_MS };
  const offMs = chance.pick('direction', [-HOUR_MS, HOUR_MS]);
  for (const sample of samplesIn(draft, span)) sample.stampMs += offMs;
  if (offMs > 0) {
    hide(draft, fields, span);
    return [span];
  }
  const around = (atMs: number) => ({ fromMs: atMs - HOUR_MS, toMs: atMs });
  for (const field of fields) {
    const isRegister = field === 'total' || field === 'daily';
    if (isRegister) hide(draft, [field], { fromMs: span.fromMs - HOUR_MS, toMs: span.toMs });
    // One hour comes twice at the start of the fault, and one is missing at its end, or the reverse. The
    // bounds of days are wrong by an hour.
    else
      for (const atMs of [span.fromMs, span.toMs, ...days.map(({ startMs }) => startMs + HOUR_MS)])
        if (atMs >= span.fromMs && atMs <= span.toMs) hide(draft, [field], around(atMs));
  }
  return [span];
}
