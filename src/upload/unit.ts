import { unitFactor, unitProblem, unitTable } from '../units.ts';

const known = [...unitTable('energy'), ...unitTable('power')].map(([unit]) => unit);

/** A unit of energy or power; `kwh` and `KWH` are understood too, but for those of which several differ by their case. @returns undefined for none */
export function parseUnit(text: string): string | undefined {
  if (known.includes(text)) return text;
  const meant = known.filter((unit) => unit.toLowerCase() === text.toLowerCase());
  return meant.length === 1 ? meant[0] : undefined;
}

/** @returns how many Wh one of the unit is, or what is wrong with it */
export function energyFactor(unit: string): number | string {
  const exact = parseUnit(unit) ?? unit;
  return (
    unitFactor('energy', exact) ?? unitProblem('energy', exact)!.replace(', or a method that reads power', '')
  );
}
