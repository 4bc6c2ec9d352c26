import type { Explained } from '../facts/answers.ts';
import { energyUnit, powerUnit, type Unit } from '../words/number-words.ts';
import { closeScale, niceScale, type Scale } from './nice-scale.ts';

/** The gutter for the labels of the axes. */
export const GUTTER = 60;
export const READINGS_TOP = 26;
export const READINGS_HEIGHT = 210;
export const BARS_TOP = READINGS_TOP + READINGS_HEIGHT + 18;
export const BARS_HEIGHT = 70;
export const WHY_HEIGHT = BARS_TOP + BARS_HEIGHT + 22;

/** Where the instants and the values of a day are in its picture, in pixels. */
export interface WhyPlace {
  width: number;
  startMs: number;
  endMs: number;
  isPower: boolean;
  scale: Scale;
  unit: Unit;
  x(ms: number): number;
  /** Values beyond the scale are at its edge. */
  y(value: number): number;
}

/** @param values the range of the values that count, in W for a power and in Wh for a register */
export function placeWhy(
  { start, end }: Explained,
  { low, high, isPower }: { low: number; high: number; isPower: boolean },
  width: number,
): WhyPlace {
  const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
  const scale = isPower ? niceScale(low, high, 4) : closeScale(low, high, 4);
  const unit = isPower ? powerUnit(high) : energyUnit(Math.max(Math.abs(low), Math.abs(high)));
  return {
    ...{ width, startMs, endMs, isPower, scale, unit },
    x: (ms) => GUTTER + ((ms - startMs) / (endMs - startMs)) * (width - GUTTER),
    y: (value) =>
      READINGS_TOP +
      ((scale.high - Math.min(scale.high, Math.max(scale.low, value))) / (scale.high - scale.low)) *
        READINGS_HEIGHT,
  };
}
