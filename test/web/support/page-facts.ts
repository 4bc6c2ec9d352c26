import type { DeviceStatuses } from '../../../src/web/facts/answers.ts';

/** When and where the pages of a workgroup are read. */
export interface Facts {
  today: string;
  yesterday: string;
  zone: string;
  /** The time of the page, which stands still. */
  nowMs: number;
}

const DAY_MS = 86_400_000;

export const shift = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

/** All days from the first to the last. */
export function daysFrom(first: string, last: string): string[] {
  const length = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return Array.from({ length }, (_, index) => shift(first, index));
}

/** Names of devices and their sources. A source that is the only, unnamed one has the name of its device. */
export function namerOf(statuses: DeviceStatuses): (key: string) => string {
  return (key) => {
    const [device, source] = [key.slice(0, 36), key.slice(37)];
    const name = statuses[device]?.name ?? device.slice(0, 8);
    return source === '' || source === 'default' ? name : `${name} · ${source}`;
  };
}
