import { DAY_MS, HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { activeSpan, type Draft, hide, innerDay, type Span, samplesIn, someRegisters } from '../draft.ts';
import { type Fault, hasRegister, hasTotal } from './fault.ts';

/** Registers that show one value for hours though energy flows. */
export const frozenFaults: readonly Fault[] = [
  {
    name: 'frozen, catches up',
    on: 'device',
    takesManyForms: true,
    fits: hasRegister,
    apply: frozenCatchesUp,
  },
  { name: 'frozen, goes on', on: 'device', fits: hasRegister, apply: frozenGoesOn },
  { name: 'frozen for good', on: 'device', fits: hasTotal, apply: frozenForGood },
];

/** The register stands still for hours, sometimes over midnight. Then it shows the true value again. */
function frozenCatchesUp(draft: Draft, chance: Chance): Span[] {
  const span = chance.isTrue('over midnight', 0.4)
    ? overMidnight(draft, chance)
    : activeSpan(draft, chance, chance.whole('hours', 2, 12));
  freeze(draft, someRegisters(draft, chance), span);
  return [span];
}

function overMidnight(draft: Draft, chance: Chance): Span {
  const { endMs } = draft.plan.days[innerDay(draft, chance)]!;
  return {
    fromMs: endMs - chance.whole('hours before', 2, 10) * HOUR_MS,
    toMs: endMs + chance.whole('hours after', 1, 12) * HOUR_MS,
  };
}

/** The register stands still for hours. Then it continues from its value, and the energy between is lost. */
function frozenGoesOn(draft: Draft, chance: Chance): Span[] {
  const span = activeSpan(draft, chance, chance.whole('hours', 2, 8));
  const fields = someRegisters(draft, chance);
  freeze(draft, fields, span);
  noteUnseen(draft, span);
  for (const field of fields) {
    const resets = draft.resetsMs[field];
    const sinceMs = resets.findLast((ms) => ms <= span.toMs && ms > span.fromMs) ?? span.fromMs;
    const missedWh = draft.plan.curve.energyWh(sinceMs, span.toMs);
    const untilMs = resets.find((ms) => ms > span.toMs) ?? Infinity;
    for (const sample of samplesIn(draft, { fromMs: span.toMs, toMs: untilMs }))
      sample[`${field}Wh`] = Math.max(0, sample[`${field}Wh`] - missedWh);
    draft.uncounted.push({ ...span, field });
  }
  return [span];
}

/** The register stands still until the end of the recording. */
function frozenForGood(draft: Draft, chance: Chance): Span[] {
  const { fromMs } = activeSpan(draft, chance, 3);
  const span = { fromMs, toMs: draft.plan.days.at(-1)!.endMs + DAY_MS };
  freeze(draft, ['total'], span);
  noteUnseen(draft, span);
  return [span];
}

function freeze(draft: Draft, fields: ReadonlyArray<'total' | 'daily'>, span: Span): void {
  const before = draft.samples.findLast(({ atMs }) => atMs < span.fromMs);
  if (!before) return;
  for (const field of fields)
    for (const sample of samplesIn(draft, span)) sample[`${field}Wh`] = before[`${field}Wh`];
  hide(draft, fields, span);
}

/**
 * A register that stands still looks like the register of a device that is off, if no other field shows
 * energy.
 */
function noteUnseen(draft: Draft, span: Span): void {
  if (draft.plan.fields.length === 1) draft.unseen.push(span);
}
