import { parseUnit, unitFactor, unitProblem } from '../lib/units.ts';

/** @returns how many Wh one of the unit is, or a text with the problem */
export function energyFactor(unit: string): number | string {
  const exact = parseUnit(unit) ?? unit;
  return unitFactor('energy', exact) ?? unitProblem('energy', exact, { hasMethods: false })!;
}
