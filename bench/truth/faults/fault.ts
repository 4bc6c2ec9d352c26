import type { Chance } from '../chance.ts';
import type { Field } from '../configurations.ts';
import type { Draft, Span } from '../draft.ts';
import type { Wants } from '../plan.ts';

/**
 * One thing that goes wrong in real meters. It happens to what the device measures, to the values that it has
 * written, or on the way to the stream, in this order.
 */
export interface Fault {
  name: string;
  on: 'device' | 'values' | 'delivery';
  /** True if the fault can happen to a device that sends these fields. */
  fits: (fields: readonly Field[]) => boolean;
  wants?: Wants;
  /** True if the fault has many forms. It then occurs twice as often as the others. */
  takesManyForms?: true;
  /** True if the fault computes all values again. That would undo an earlier fault. */
  onlyFirst?: true;
  /** Changes the recording, and notes which values are no longer true. @returns when it happened */
  apply: (draft: Draft, chance: Chance) => Span[];
}

export const hasTotal = (fields: readonly Field[]) => fields.includes('total');
export const hasDaily = (fields: readonly Field[]) => fields.includes('daily');
export const hasPower = (fields: readonly Field[]) => fields.includes('power');
export const hasRegister = (fields: readonly Field[]) => hasTotal(fields) || hasDaily(fields);
export const always = () => true;
/** A lifetime register of the same device would show the energy of the day. */
export const hasDailyOnly = (fields: readonly Field[]) => hasDaily(fields) && !hasTotal(fields);
export const hasPowerOnly = (fields: readonly Field[]) => hasPower(fields) && !hasTotal(fields);
