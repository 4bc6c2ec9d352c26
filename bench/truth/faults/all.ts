import { averageFaults } from './averages.ts';
import { dailyFaults } from './daily-registers.ts';
import { deliveryFaults } from './delivery.ts';
import type { Fault } from './fault.ts';
import { frozenFaults } from './frozen.ts';
import { gapFaults } from './gaps.ts';
import { powerFaults } from './power.ts';
import { registerFaults } from './registers.ts';
import { restartFaults } from './restarts.ts';
import { twoDevicesFault } from './two-devices.ts';
import { unitFaults } from './units.ts';
import { wrongValueFaults } from './wrong-values.ts';

/** Every kind of fault. */
export const faults: readonly Fault[] = [
  ...wrongValueFaults,
  ...unitFaults,
  ...registerFaults,
  ...restartFaults,
  ...frozenFaults,
  ...averageFaults,
  twoDevicesFault,
  ...dailyFaults,
  ...powerFaults,
  ...gapFaults,
  ...deliveryFaults,
];

/** The order in which recordings get the faults. */
export const faultTurns: readonly Fault[] = [
  ...faults,
  ...faults.filter(({ takesManyForms }) => takesManyForms),
];
