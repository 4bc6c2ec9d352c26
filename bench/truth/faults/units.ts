import { HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import type { Field } from '../configurations.ts';
import { activeSpan, type Draft, hide, innerDay, type Span, samplesIn, someRegisters } from '../draft.ts';
import { type Fault, hasRegister } from './fault.ts';
import { round } from './wrong-values.ts';

/** Registers that are sent in another unit than the stream says. */
export const unitFaults: readonly Fault[] = [
  {
    name: 'unit changes for good',
    on: 'values',
    takesManyForms: true,
    fits: hasRegister,
    apply: unitChangesForGood,
  },
  { name: 'unit changes for hours', on: 'values', fits: hasRegister, apply: unitChangesForHours },
];

/**
 * From some time on the register is sent in another unit. The factor is a power of ten, so no energy is lost.
 */
function unitChangesForGood(draft: Draft, chance: Chance): Span[] {
  const { startMs } = draft.plan.days[innerDay(draft, chance)]!;
  const fromMs = chance.isTrue('at midnight', 0.5) ? startMs : activeSpan(draft, chance, 1).fromMs;
  const span = { fromMs, toMs: draft.plan.days.at(-1)!.endMs + HOUR_MS };
  multiply(draft, someRegisters(draft, chance), span, chance.pick('factor', [1_000, 0.001, 0.001, 10]));
  return [span];
}

/** For some hours the register is sent in another unit. */
function unitChangesForHours(draft: Draft, chance: Chance): Span[] {
  const span = activeSpan(draft, chance, chance.whole('hours', 1, 9));
  const fields = someRegisters(draft, chance);
  multiply(draft, fields, span, chance.pick('factor', [1_000, 0.001, 10]));
  hide(draft, fields, span);
  return [span];
}

function multiply(draft: Draft, fields: readonly Field[], span: Span, factor: number): void {
  for (const sample of samplesIn(draft, span))
    for (const field of fields) sample.data[field] = round(Number(sample.data[field]) * factor);
}
