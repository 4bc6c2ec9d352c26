import { MINUTE_MS } from '../../../src/lib/time.ts';
import { type Draft, hide, type Span } from '../draft.ts';
import type { Wants } from '../plan.ts';
import { solarOnly } from './common.ts';
import { type Fault, hasDaily, hasTotal } from './fault.ts';

const averaged: Wants = {
  deviceKinds: solarOnly,
  everyMs: [15 * MINUTE_MS],
  jitter: ['none'],
  displays: [{ unit: 'kWh', decimals: 3 }],
};

/** Means of 15 minutes of a register that reads zero at night. */
export const averageFaults: readonly Fault[] = [
  {
    name: 'averaged total',
    on: 'device',
    fits: hasTotal,
    wants: { ...averaged, begins: ['noon'] },
    apply: averagedTotal,
  },
  {
    name: 'averaged total, begins in it',
    on: 'device',
    takesManyForms: true,
    fits: hasTotal,
    wants: { ...averaged, begins: ['midnight', 'dawn'] },
    apply: averagedTotal,
  },
  { name: 'averaged daily', on: 'device', fits: hasDaily, wants: averaged, apply: averagedDaily },
];

/**
 * The lifetime register reads zero at night and is averaged: at dusk and dawn it shows a fraction of its
 * value.
 */
function averagedTotal(draft: Draft): Span[] {
  return average(draft, 'total', (atMs) => {
    const { curve, startWh } = draft.plan;
    return startWh + curve.energyWh(curve.startMs, atMs);
  });
}

/** The same for the daily register. */
function averagedDaily(draft: Draft): Span[] {
  const { curve } = draft.plan;
  return average(draft, 'daily', (atMs) => {
    const sinceMs = draft.resetsMs.daily.findLast((ms) => ms <= atMs) ?? curve.startMs;
    return curve.energyWh(sinceMs, atMs);
  });
}

/**
 * Each value becomes the mean of the minutes of its step. A minute without power counts as zero. The step
 * ends at the time of the value.
 */
function average(draft: Draft, field: 'total' | 'daily', shownWh: (atMs: number) => number): Span[] {
  const { curve, everyMs } = draft.plan;
  const minutes = Math.round(everyMs / MINUTE_MS);
  const spans: Span[] = [];
  for (const sample of draft.samples) {
    const times = Array.from({ length: minutes }, (_, minute) => sample.atMs - minute * MINUTE_MS);
    const awake = times.filter((atMs) => curve.powerW(atMs) > 0);
    sample[`${field}Wh`] = awake.reduce((sum, atMs) => sum + shownWh(atMs), 0) / minutes;
    if (awake.length === minutes) continue;
    const span = { fromMs: sample.atMs, toMs: sample.atMs + 1 };
    hide(draft, [field], span);
    if (awake.length > 0) spans.push(span);
  }
  return spans;
}
