/** A number of the energy rules, with its unit, its meaning and the reason for its value. */
export interface RuleConstant {
  value: number;
  unit: 'ms' | 'W' | 'Wh' | 'times' | 'days' | 'readings' | 'digits';
  meaning: string;
  reason: string;
}
