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
  /** Whether it can happen where these fields are sent. */
  fits: (fields: readonly Field[]) => boolean;
  wants?: Wants;
  /** It takes many forms, so it has two turns where others have one. */
  takesManyForms?: true;
  /** It makes the values again, so it would undo a fault before it. */
  onlyFirst?: true;
  /** Changes the recording, and notes which values are no longer true. @returns when it happened */
  apply: (draft: Draft, chance: Chance) => Span[];
}

export const hasTotal = (fields: readonly Field[]) => fields.includes('total');
export const hasDaily = (fields: readonly Field[]) => fields.includes('daily');
export const hasPower = (fields: readonly Field[]) => fields.includes('power');
export const hasRegister = (fields: readonly Field[]) => hasTotal(fields) || hasDaily(fields);
export const always = () => true;
/** A lifetime register beside it would tell the day. */
export const hasDailyOnly = (fields: readonly Field[]) => hasDaily(fields) && !hasTotal(fields);
export const hasPowerOnly = (fields: readonly Field[]) => hasPower(fields) && !hasTotal(fields);
