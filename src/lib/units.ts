import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts';

/**
 * Quantities with units: `10 kW`, `100 Wh`, `15m`. SI prefixes are case-sensitive: 1 mWh is a billionth of 1
 * MWh.
 */

/** The bytes of a MiB. */
export const MEBIBYTE = 1024 * 1024;
/** The bytes of a GiB. */
export const GIBIBYTE = 1024 * MEBIBYTE;

const ENERGY_WH: Readonly<Record<string, number>> = {
  mWh: 1e-3,
  Wh: 1,
  kWh: 1e3,
  MWh: 1e6,
  GWh: 1e9,
  TWh: 1e12,
  J: 1 / 3600,
  kJ: 1e3 / 3600,
  MJ: 1e6 / 3600,
  GJ: 1e9 / 3600,
  Ws: 1 / 3600,
  kWs: 1e3 / 3600,
};

const POWER_W: Readonly<Record<string, number>> = { mW: 1e-3, W: 1, kW: 1e3, MW: 1e6, GW: 1e9 };

const DURATION_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  min: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

export type Dimension = 'energy' | 'power' | 'duration';
const UNITS: Readonly<Record<Dimension, Readonly<Record<string, number>>>> = {
  energy: ENERGY_WH,
  power: POWER_W,
  duration: DURATION_MS,
};

/** How many Wh, W or ms one of this unit is. Undefined for an unknown unit. */
export function unitFactor(dimension: Dimension, unit: string): number | undefined {
  return Object.hasOwn(UNITS[dimension], unit) ? UNITS[dimension][unit] : undefined;
}

/** The units of a dimension, with their factors to Wh, W or ms. */
export function unitTable(dimension: Dimension): ReadonlyArray<readonly [unit: string, factor: number]> {
  return Object.entries(UNITS[dimension]);
}

const knownUnits = [...Object.keys(ENERGY_WH), ...Object.keys(POWER_W)];

/**
 * Reads a unit of energy or power. Other capitals, such as `kwh`, are accepted if only one unit can be meant.
 * @returns undefined for an unknown unit
 */
export function parseUnit(text: string): string | undefined {
  if (knownUnits.includes(text)) return text;
  const candidates = knownUnits.filter((unit) => unit.toLowerCase() === text.toLowerCase());
  return candidates.length === 1 ? candidates[0] : undefined;
}

/**
 * The problem with a unit, with the unit that is probably meant.
 * @param hasMethods true if whoever wrote the unit can also choose a method that reads the other dimension
 * @returns undefined if there is no problem
 */
export function unitProblem(
  dimension: 'energy' | 'power',
  unit: string,
  { hasMethods = true } = {},
): string | undefined {
  if (unitFactor(dimension, unit) !== undefined) return undefined;
  const other = dimension === 'energy' ? 'power' : 'energy';
  const known = unitTable(dimension).map(([name]) => name);
  const candidates = known.filter((name) => name.toLowerCase() === unit.trim().toLowerCase());
  if (candidates.length > 0)
    return `"${unit}" is not a unit of ${dimension}; is it ${candidates.join(' or ')}?`;
  if (unitFactor(other, unit) !== undefined) {
    const sibling = dimension === 'energy' ? `${unit}h` : unit.replace(/h$/, '');
    const counterpart = known.includes(sibling)
      ? `${sibling} if it is ${dimension}`
      : `a unit of ${dimension}`;
    return `"${unit}" is not a unit of ${dimension} but of ${other}; use ${counterpart}${hasMethods ? `, or a method that reads ${other}` : ''}`;
  }
  return `"${unit}" is not a unit of ${dimension}; use one of ${known.join(', ')}`;
}

/**
 * Reads `10 kW`, `100Wh`, `1.5h`: a plain decimal number and a known unit.
 * @returns the amount in Wh, W or ms; undefined for other text
 */
export function parseQuantity(dimension: Dimension, text: string): number | undefined {
  const match = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)\s*$/.exec(text);
  if (!match) return undefined;
  const factor = unitFactor(dimension, match[2]!);
  const amount = factor === undefined ? Number.NaN : Number(match[1]) * factor;
  return Number.isFinite(amount) ? amount : undefined;
}

/** A duration in the largest unit without a fraction, such as `90m`. `parseQuantity` reads it. */
export function formatDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => ms > 0 && ms % DURATION_MS[name]! === 0) ?? 'ms';
  return `${ms / DURATION_MS[unit]!}${unit}`;
}
