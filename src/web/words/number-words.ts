/** Numbers as people read them, in the locale of the browser. */

export interface Unit {
  name: string;
  /** Wh or W of one. */
  size: number;
}

const energyUnits: readonly Unit[] = [
  { name: 'GWh', size: 1e9 },
  { name: 'MWh', size: 1e6 },
  { name: 'kWh', size: 1e3 },
  { name: 'Wh', size: 1 },
];
const powerUnits: readonly Unit[] = energyUnits.map(({ name, size }) => ({ name: name.slice(0, -1), size }));

/** The largest unit in which the value is at least 1. */
export function energyUnit(wh: number): Unit {
  return unitOf(energyUnits, wh);
}

export function powerUnit(watts: number): Unit {
  return unitOf(powerUnits, watts);
}

function unitOf(units: readonly Unit[], value: number): Unit {
  return units.find(({ size }) => Math.abs(value) >= size) ?? units.at(-1)!;
}

/** Such as 128.8 kWh. Without a unit it is chosen by the size. */
export function formatEnergy(wh: number, unit = energyUnit(wh)): string {
  return `${formatIn(wh, unit)}\u00a0${unit.name}`;
}

export function formatPower(watts: number, unit = powerUnit(watts)): string {
  return `${formatIn(watts, unit)}\u00a0${unit.name}`;
}

/** The number alone, with at least three significant digits. Whole numbers in the smallest unit. */
export function formatIn(value: number, { size }: Unit): string {
  const scaled = value / size;
  const digits = size === 1 ? 0 : Math.abs(scaled) < 9.995 ? 2 : 1;
  return numberFormat(digits).format(scaled);
}

/**
 * The text of a tick of an axis. All ticks have the same number of decimals, which is the number that the
 * step needs.
 */
export function tickText(value: number, step: number, { size }: Unit): string {
  const digits = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / size))));
  return numberFormat(digits).format(value / size);
}

/** All digits, such as 128,834 Wh. */
export function exactEnergy(wh: number): string {
  return `${numberFormat(0).format(wh)}\u00a0Wh`;
}

export function countText(value: number): string {
  return numberFormat(0).format(value);
}

/** A value with all its digits, but at most three decimals. */
export function formatValue(value: number): string {
  return new Intl.NumberFormat(undefined, { maximumFractionDigits: 3 }).format(value);
}

/** A share of 0 to 1, such as 71 %. Shares just below 1 are never shown as 100 %. */
export function formatShare(share: number): string {
  const percent = share < 1 && share > 0.995 ? Math.floor(share * 1_000) / 10 : share * 100;
  return `${numberFormat(percent < 100 && percent >= 99 ? 1 : 0).format(percent)}\u00a0%`;
}

/** The difference to a reference, such as "4 % more than"; undefined if the reference is zero. */
export function formatChange(value: number, reference: number): string | undefined {
  if (reference === 0) return undefined;
  const percent = changePercent(value, reference);
  if (Math.abs(percent) < 0.5) return 'as much as';
  const size = `${numberFormat(0).format(Math.abs(percent))}\u00a0%`;
  return percent > 0 ? `${size} more than` : `${size} less than`;
}

/** The difference to a reference that is not zero, in percent of it. */
export function changePercent(value: number, reference: number): number {
  return ((value - reference) / Math.abs(reference)) * 100;
}

const formats = new Map<number, Intl.NumberFormat>();

function numberFormat(digits: number): Intl.NumberFormat {
  let format = formats.get(digits);
  if (!format) {
    format = new Intl.NumberFormat(undefined, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    formats.set(digits, format);
  }
  return format;
}

/** Such as "1 device" and "3 devices". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)}\u00a0${count === 1 ? one : many}`;
}

/** Such as "a, b and c". */
export function listWords(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Percent with its sign, such as "+4.2 %". Null is a dash. */
export function signedPercent(percent: number | null): string {
  if (percent === null) return '–';
  return percentText(percent, 'exceptZero');
}

/** A difference in percent before the words of its reference: "1.4 % below", "12 % above" or "equal to". */
export function percentBeside(percent: number): string {
  const size = percentText(percent, 'never');
  if (size === percentText(0, 'never')) return 'equal to';
  return `${size} ${percent < 0 ? 'below' : 'above'}`;
}

function percentText(percent: number, signDisplay: 'exceptZero' | 'never'): string {
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay };
  return `${new Intl.NumberFormat(undefined, format).format(percent)}\u00a0%`;
}
