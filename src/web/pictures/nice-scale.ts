import { nice, tickStep, ticks } from 'd3-array';

export interface Scale {
  low: number;
  high: number;
  ticks: readonly number[];
  /** Between two ticks. */
  step: number;
  /** True if all values are zero. */
  isEmpty: boolean;
}

/**
 * A scale that contains zero and the given values, with ticks at 1, 2 or 5 times a power of ten.
 * @param count about how many ticks
 */
export function niceScale(low: number, high: number, count = 4): Scale {
  const bottom = Math.min(0, low);
  const top = Math.max(0, high);
  return { ...scaleOf(bottom, top === bottom ? bottom + 1 : top, count), isEmpty: top === bottom };
}

/** Like `niceScale`, but the scale leaves out zero if the values are far from it. */
export function closeScale(low: number, high: number, count = 4): Scale {
  if (low === high) return scaleOf(low - 1, high + 1, count);
  return scaleOf(low, high, count);
}

function scaleOf(from: number, to: number, count: number): Scale {
  const [low, high] = nice(from, to, count);
  return {
    low,
    high,
    ticks: ticks(low, high, count),
    step: tickStep(low, high, count),
    isEmpty: false,
  };
}
