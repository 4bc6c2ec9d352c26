import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { FieldValue } from '../../src/contract/messages.ts';
import { DAY_MS, HOUR_MS, type UtcMs } from '../../src/lib/time.ts';
import type { Chance } from './chance.ts';
import type { Field } from './configurations.ts';
import type { Plan } from './plan.ts';
import type { Sample } from './samples.ts';

/** A range of time. Its end is not included. */
export interface Span {
  fromMs: UtcMs;
  toMs: UtcMs;
}

/**
 * A sample that faults may change: what the device measured, or another time, or values that no device
 * measured.
 */
export interface DraftSample extends Sample {
  /** The time that it is stamped with. */
  stampMs: UtcMs;
  arrivesMs: UtcMs;
  /** The values that are sent, in the units of the streams. Empty until they are written. */
  data: Record<string, FieldValue>;
}

/** A recording that is being made. Faults change it, and note what can still be known. */
export interface Draft {
  plan: Plan;
  samples: DraftSample[];
  streams: EnergyStreamInput[];
  /** When a register started again from zero. */
  resetsMs: Record<'total' | 'daily', UtcMs[]>;
  /** Times when the values of a field are wrong. A register can be right again afterwards. */
  hidden: Array<Span & { field: Field }>;
  /** Energy that a register never counted. */
  uncounted: Array<Span & { field: Field }>;
  /**
   * Times when nobody can know the energy, with the least and the greatest possible energy as multiples of
   * the energy of the curve.
   */
  ambiguous: Array<Span & { low: number; high: number }>;
  /**
   * Times when the readings are wrong but look right, and no other field shows it. So no flag of doubt can be
   * expected.
   */
  unseen: Span[];
  /** What was changed, in words for people. */
  happened: Array<Span & { fault: string }>;
}

export const within = ({ fromMs, toMs }: Span, ms: UtcMs): boolean => ms >= fromMs && ms < toMs;

export function samplesIn({ samples }: Draft, span: Span): DraftSample[] {
  return samples.filter(({ atMs }) => within(span, atMs));
}

/** The values of the fields in the time are not true. */
export function hide(draft: Draft, fields: readonly Field[], span: Span): void {
  draft.hidden.push(...fields.map((field) => ({ ...span, field })));
}

/** The whole recording. */
export function wholeSpan({ plan: { days } }: Draft): Span {
  return { fromMs: days[0]!.startMs - DAY_MS, toMs: days.at(-1)!.endMs + DAY_MS };
}

/** The registers that the recording has. */
export function registersOf({ plan: { fields } }: Draft): Array<'total' | 'daily'> {
  return (['total', 'daily'] as const).filter((field) => fields.includes(field));
}

/** One or both of the registers. In many devices both show one counter. In others each has its own faults. */
export function someRegisters(draft: Draft, chance: Chance): Array<'total' | 'daily'> {
  const registers = registersOf(draft);
  return registers.length < 2 || chance.isTrue('both registers', 0.5)
    ? registers
    : [chance.pick('register', registers)];
}

/**
 * A day with energy that has two days before it and two after it. A fault on a day without energy would
 * change nothing.
 */
export function innerDay({ plan: { curve, days } }: Draft, chance: Chance): number {
  const energies = days.map(({ startMs, endMs }) => curve.energyWh(startMs, endMs));
  const inner = energies.map((_, index) => index).slice(2, -2);
  const mostWh = Math.max(...inner.map((index) => energies[index]!));
  return chance.pick(
    'day',
    inner.filter((index) => energies[index]! >= 0.3 * mostWh),
  );
}

/** A time of an inner day when the device has power. It is one of the times with the most energy. */
export function activeSpan(draft: Draft, chance: Chance, hours: number): Span {
  const { curve, days } = draft.plan;
  const { startMs } = days[innerDay(draft, chance)]!;
  const lengthMs = hours * HOUR_MS;
  const room = Math.max(1, Math.floor((24 - hours) * 4));
  const spans = Array.from({ length: room }, (_, quarter) => {
    const fromMs = startMs + (quarter * HOUR_MS) / 4;
    return { fromMs, toMs: fromMs + lengthMs, energyWh: curve.energyWh(fromMs, fromMs + lengthMs) };
  });
  const mostWh = Math.max(...spans.map(({ energyWh }) => energyWh));
  const { fromMs, toMs } = chance.pick(
    'active span',
    spans.filter(({ energyWh }) => energyWh >= 0.6 * mostWh),
  );
  return { fromMs, toMs };
}

/**
 * The night before each local day except the first. It is the time from the last power to the first one, or
 * from 22:00 to 05:00.
 */
export function nightsOf({ plan: { curve, days, device } }: Draft): Span[] {
  return days.slice(1).map(({ startMs }) => {
    if (device.kind !== 'solar') return { fromMs: startMs - 2 * HOUR_MS, toMs: startMs + 5 * HOUR_MS };
    let [fromMs, toMs] = [startMs, startMs];
    while (fromMs > startMs - 16 * HOUR_MS && curve.powerW(fromMs - 60_000) === 0) fromMs -= 60_000;
    while (toMs < startMs + 16 * HOUR_MS && curve.powerW(toMs) === 0) toMs += 60_000;
    return { fromMs, toMs };
  });
}

/** The mean energy of a day. */
export function dailyWhOf({ plan: { curve, days } }: Draft): number {
  return curve.energyWh(days[0]!.startMs, days.at(-1)!.endMs) / days.length;
}
