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
  return { ...wrap(bottom, top === bottom ? bottom + 1 : top, count), isEmpty: top === bottom };
}

/** Like `niceScale`, but the scale leaves out zero if the values are far from it. */
export function closeScale(low: number, high: number, count = 4): Scale {
  if (low === high) return wrap(low - 1, high + 1, count);
  return wrap(low, high, count);
}

function wrap(low: number, high: number, count: number): Scale {
  const step = niceStep((high - low) / count);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return { low: first * step, high: last * step, ticks, step, isEmpty: false };
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough * 0.7));
  return power * ([1, 2, 5].find((one) => one * power >= rough * 0.7) ?? 10);
}
