/**
 * The fields that a device may send: a lifetime register, a daily register, power, the energy of an interval.
 */
export type Field = 'total' | 'daily' | 'power' | 'energy';

/** The fields of a recording, in the order that the roll-up tries them. */
export const configurations = {
  total: ['total'],
  'total + power': ['total', 'power'],
  'total + daily + power': ['total', 'daily', 'power'],
  'daily + power': ['daily', 'power'],
  power: ['power'],
  interval: ['energy'],
} as const satisfies Record<string, readonly Field[]>;
export type ConfigurationName = keyof typeof configurations;

/** How likely each configuration is. */
export const configurationShares: ReadonlyArray<readonly [share: number, name: ConfigurationName]> = [
  [0.2, 'total'],
  [0.1, 'total + power'],
  [0.24, 'total + daily + power'],
  [0.18, 'daily + power'],
  [0.18, 'power'],
  [0.1, 'interval'],
];
