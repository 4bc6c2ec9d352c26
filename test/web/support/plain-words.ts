/**
 * Numbers, days and times as a page in English shows them. The tests write them down by themselves, and not
 * with the functions of the page.
 */

export const count = (value: number) => value.toLocaleString('en-GB', { maximumFractionDigits: 0 });
export const many = (value: number, one: string, others = `${one}s`) =>
  `${count(value)} ${value === 1 ? one : others}`;
export const exact = (wh: number) => `${count(wh)} Wh`;

/** Such as "205.0 kWh": three digits and more. */
export function energy(wh: number): string {
  const [size, unit] = (
    [
      [1e9, 'GWh'],
      [1e6, 'MWh'],
      [1e3, 'kWh'],
      [1, 'Wh'],
    ] as const
  ).find(([one]) => Math.abs(wh) >= one || one === 1)!;
  const digits = size === 1 ? 0 : Math.abs(wh / size) < 9.995 ? 2 : 1;
  return `${(wh / size).toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

/** Whole percent; with a digit from 99 on, so that almost all is never all. */
export function percent(share: number): string {
  if (share >= 1 || share < 0.99) return `${Math.round(share * 100)} %`;
  return `${(Math.floor(share * 1_000 + 1e-9) / 10).toFixed(1)} %`;
}

const dayFormat = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });
const long = dayFormat({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
const short = dayFormat({ weekday: 'short', day: 'numeric', month: 'short' });
const date = dayFormat({ day: 'numeric', month: 'short' });
const span = dayFormat({ day: 'numeric', month: 'short', year: 'numeric' });
const month = dayFormat({ month: 'long', year: 'numeric' });

/** Such as "Fri, 20 Nov 2026". */
export const longDay = (day: string) => long.format(new Date(day));
export const shortDay = (day: string) => short.format(new Date(day));
export const dateOf = (day: string) => date.format(new Date(day));
/** Such as "November 2026". */
export const monthName = (day: string) => month.format(new Date(day));
/** Such as "3 – 9 Nov 2026". One day, a whole month and a whole year have their own names. */
export function period(from: string, to: string): string {
  if (from === to) return longDay(from);
  const dayAfter = new Date(Date.parse(to) + 86_400_000).toISOString().slice(0, 10);
  const [year, ofMonth] = [from.slice(0, 4), from.slice(0, 7)];
  if (from === `${year}-01-01` && dayAfter === `${Number(year) + 1}-01-01`) return year;
  if (from === `${ofMonth}-01` && dayAfter.endsWith('-01') && to.startsWith(ofMonth)) return monthName(from);
  return span.formatRange(new Date(from), new Date(to)).replaceAll(/\s+/g, ' ');
}

/** Such as "20 Nov 2026, 09:41". */
export function dayTime(instant: string, zone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  }).format(new Date(instant));
}

/** Such as "09:41:07". */
export function clock(instant: string | number, zone: string, seconds = false): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
    hourCycle: 'h23',
  }).format(new Date(instant));
}

/** Such as "3 hours ago". */
export function ago(instant: string, nowMs: number): string {
  const minutes = Math.floor((nowMs - Date.parse(instant)) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${many(minutes, 'minute')} ago`;
  if (minutes < 24 * 60) return `${many(Math.floor(minutes / 60), 'hour')} ago`;
  return `${many(Math.floor(minutes / 60 / 24), 'day')} ago`;
}
