import type { ConditionName } from '../config/alert-settings.ts';
import type { AlertCondition } from './alert-condition-type.ts';
import { budget } from './budget-condition.ts';
import { exportOutdated, exportUndelivered } from './delivery-conditions.ts';
import { coverage, dayFlagged, dayRestated, deviceIdle, deviceSilent } from './device-conditions.ts';
import {
  behind,
  dataLossAhead,
  disk,
  gap,
  inputDisconnected,
  quarantine,
  stageLate,
} from './pipeline-conditions.ts';

/** All conditions, the most important first. Messages are composed in this order. */
export const alertConditions: { readonly [Name in ConditionName]: AlertCondition<Name> } = {
  dataLossAhead,
  stageLate,
  disk,
  gap,
  behind,
  inputDisconnected,
  deviceSilent,
  quarantine,
  exportUndelivered,
  deviceIdle,
  dayFlagged,
  coverage,
  budget,
  dayRestated,
  exportOutdated,
};

export const conditionNames = Object.keys(alertConditions) as ConditionName[];
