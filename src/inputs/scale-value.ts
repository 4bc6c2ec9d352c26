/** The digits that a double keeps, so that 6.532 kWh are 6532 Wh. */
const DIGITS = 15;

/** Multiplies a number by the factor of a rule, and leaves out the noise of the last digits. */
export function scaleValue(value: number, factor: number): number {
  return factor === 1 ? value : Number((value * factor).toPrecision(DIGITS));
}
