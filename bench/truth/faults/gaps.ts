import { HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, type Span, samplesIn } from '../draft.ts';
import { always, type Fault } from './fault.ts';

/** Readings that never come. */
export const gapFaults: readonly Fault[] = [
  { name: 'gap of hours', on: 'delivery', fits: always, apply: gapOfHours },
  { name: 'gap of a day', on: 'delivery', fits: always, apply: gapOfDay },
  { name: 'gap of days', on: 'delivery', fits: always, apply: gapOfDays },
];

/** No readings for some hours of the day. */
function gapOfHours(draft: Draft, chance: Chance): Span[] {
  return lose(draft, activeSpan(draft, chance, chance.whole('hours', 2, 9)));
}

/** No readings for about a day. */
function gapOfDay(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 1);
  return lose(draft, { fromMs, toMs: fromMs + chance.whole('hours', 20, 32) * HOUR_MS });
}

/** No readings for several days. */
function gapOfDays(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 1);
  return lose(draft, { fromMs, toMs: fromMs + chance.whole('hours', 44, 90) * HOUR_MS });
}

function lose(draft: Draft, span: Span): Span[] {
  const lost = new Set(samplesIn(draft, span));
  draft.samples = draft.samples.filter((sample) => !lost.has(sample));
  return [span];
}
