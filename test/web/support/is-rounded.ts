import type { ExactNumber } from './read-page.ts';

const sizes: Readonly<Record<string, number>> = {
  '%': 1,
  Wh: 1,
  kWh: 1e3,
  MWh: 1e6,
  GWh: 1e9,
  W: 1,
  kW: 1e3,
  MW: 1e6,
  GW: 1e9,
};
const spans: Readonly<Record<string, number>> = { ms: 1, s: 1e3, min: 6e4, h: 36e5, d: 864e5 };

/**
 * True if a text is its exact value, rounded to the digits that it has, and if energy has its whole Wh in the
 * title.
 */
export function isRounded({ kind, value, text, title }: ExactNumber): boolean {
  if (kind === 'exact-duration') {
    const parts = [...text.matchAll(/(\d+) (ms|s|min|h|d)/g)];
    const shown = parts.reduce((ms, [, digits, unit]) => ms + Number(digits) * spans[unit!]!, 0);
    const last = spans[parts.at(-1)?.[2] ?? ''];
    // "2 h" and "2 h 5 min": what is below the minutes is left out.
    return last !== undefined && Math.abs(value - shown) < Math.max(last, parts.length === 1 ? last / 24 : 0);
  }
  if (text === 'as much as') return Math.abs(value) < 0.5;
  if (text === 'equal to') return Math.abs(value) < 0.05;
  const [, sign, digits, unit] = /^([+-]?)([\d,.]+) (\S+)/.exec(text) ?? [];
  const size = sizes[unit ?? ''];
  if (digits === undefined || size === undefined) return false;
  const isBelow = sign === '-' || / (less|below)\b/.test(text);
  const shown = Number(digits.replaceAll(',', '')) * size * (isBelow ? -1 : 1);
  const step = size / 10 ** (digits.split('.')[1]?.length ?? 0);
  const exact = kind === 'exact-share' ? value * 100 : value;
  // A share just below 1 is rounded down.
  const reach = kind === 'exact-share' && value > 0.99 && value < 1 ? step : step / 2;
  const hasTitle = kind !== 'amount' || title === `${value.toLocaleString('en-GB')} Wh`;
  return hasTitle && Math.abs(exact - shown) <= reach + 1e-9 * Math.abs(exact);
}
