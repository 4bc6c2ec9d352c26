import { HOUR_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import type { Field } from '../configurations.ts';
import {
  activeSpan,
  type Draft,
  type DraftSample,
  hide,
  innerDay,
  nightsOf,
  registersOf,
  type Span,
  samplesIn,
  someRegisters,
  within,
} from '../draft.ts';
import { always, type Fault, hasRegister } from './fault.ts';

/** Values that the device has not measured. */
export const wrongValueFaults: readonly Fault[] = [
  { name: 'beyond range, one reading', on: 'values', fits: always, apply: beyondRangeReading },
  { name: 'beyond range, hours', on: 'values', takesManyForms: true, fits: always, apply: beyondRangeHours },
  { name: 'spikes', on: 'values', fits: hasRegister, apply: spikes },
  { name: 'dips', on: 'values', fits: hasRegister, apply: dips },
  { name: 'zeros by day', on: 'values', fits: hasRegister, apply: zerosByDay },
  { name: 'zeros by night', on: 'values', fits: hasRegister, apply: zerosByNight },
  {
    name: 'columns swapped',
    on: 'values',
    takesManyForms: true,
    fits: (fields) => fields.length > 1,
    apply: columnsSwapped,
  },
];

/**
 * Values that gateways send if a sensor is broken: numbers larger than any register, and texts that are not a
 * number.
 */
const beyond = [1e19, 3.4028234663852886e38, 5e16, 4e10, 'NaN'] as const;

/** Single readings beyond every range. */
function beyondRangeReading(draft: Draft, chance: Chance): Span[] {
  const field = chance.pick('field', draft.plan.fields);
  return singles(draft, chance, chance.whole('readings', 1, 3)).map((sample) => {
    sample.data[field] = chance.pick('value', beyond);
    return hideSample(draft, [field], sample);
  });
}

/** Hours of readings beyond every range. */
function beyondRangeHours(draft: Draft, chance: Chance): Span[] {
  const field = chance.pick('field', draft.plan.fields);
  const value = chance.pick('value', beyond);
  const span = activeSpan(draft, chance, chance.whole('hours', 1, 8));
  for (const sample of samplesIn(draft, span)) sample.data[field] = value;
  hide(draft, [field], span);
  return [span];
}

/** Single readings of a register that are much too high. */
function spikes(draft: Draft, chance: Chance): Span[] {
  return changeSingles(draft, chance, (value, index) => value * chance.magnitude(`high ${index}`, 1.3, 300));
}

/** Single readings of a register that are too low, but not zero. */
function dips(draft: Draft, chance: Chance): Span[] {
  return changeSingles(draft, chance, (value, index) => value * chance.between(`low ${index}`, 0.05, 0.95));
}

function changeSingles(
  draft: Draft,
  chance: Chance,
  change: (value: number, index: number) => number,
): Span[] {
  const fields = someRegisters(draft, chance);
  return singles(draft, chance, chance.whole('readings', 1, 5)).map((sample, index) => {
    for (const field of fields) {
      const changed = change(Number(sample.data[field]), index);
      sample.data[field] = round(changed);
    }
    return hideSample(draft, fields, sample);
  });
}

/** A register shows zero for an hour or two of the day. */
function zerosByDay(draft: Draft, chance: Chance): Span[] {
  const span = activeSpan(draft, chance, chance.pick('hours', [0.5, 1, 1, 2]));
  return zero(draft, someRegisters(draft, chance), span);
}

/** A register shows zero for a night, or for every night. */
function zerosByNight(draft: Draft, chance: Chance): Span[] {
  const nights = nightsOf(draft);
  const chosen = chance.isTrue('every night', 0.5) ? nights : [nights[innerDay(draft, chance)]!];
  return chosen.flatMap((night) => zero(draft, registersOf(draft), night));
}

function zero(draft: Draft, fields: readonly Field[], span: Span): Span[] {
  for (const sample of samplesIn(draft, span)) for (const field of fields) sample.data[field] = 0;
  hide(draft, fields, span);
  return [span];
}

/**
 * For a while the columns of an export are in the wrong order: each field has the value of the next one, or
 * two fields are swapped.
 */
function columnsSwapped(draft: Draft, chance: Chance): Span[] {
  const { fields } = draft.plan;
  const { fromMs } = activeSpan(draft, chance, 1);
  const span = { fromMs, toMs: fromMs + chance.whole('hours', 2, 60) * HOUR_MS };
  const swapped = chance.isTrue('all', 0.6) ? fields : fields.slice(0, 2);
  for (const sample of samplesIn(draft, span)) {
    const values = swapped.map((field) => sample.data[field]!);
    for (const [index, field] of swapped.entries()) sample.data[field] = values[(index + 1) % values.length]!;
  }
  hide(draft, swapped, span);
  return [span];
}

/** Samples of inner days while the device has power, each at another time. */
export function singles(draft: Draft, chance: Chance, count: number): DraftSample[] {
  const { curve, days } = draft.plan;
  const inner = { fromMs: days[1]!.startMs, toMs: days.at(-1)!.startMs };
  const candidates = draft.samples.filter(({ atMs }) => within(inner, atMs) && curve.powerW(atMs) > 0);
  const chosen = Array.from({ length: count }, (_, index) => chance.pick('sample', candidates, index));
  return [...new Set(chosen)].sort((one, other) => one.atMs - other.atMs);
}

export function hideSample(draft: Draft, fields: readonly Field[], { atMs }: DraftSample): Span {
  const span = { fromMs: atMs, toMs: atMs + 1 };
  hide(draft, fields, span);
  return span;
}

/** Rounds to the digits that a gateway sends. */
export function round(value: number): number {
  return Number(value.toPrecision(12));
}
