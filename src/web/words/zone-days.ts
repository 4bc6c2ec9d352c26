import { type LocalDay, msOf, shiftDay, today } from './local-days.ts';
import { intervalMs } from './time-units.ts';

/** The first instants of a day and of the day after it in a time zone, in ms since 1970. */
export function boundsOfDay(day: LocalDay, zone: string): { startMs: number; endMs: number } {
  return { startMs: startOfDay(day, zone), endMs: startOfDay(shiftDay(day, 1), zone) };
}

/**
 * Steps to the boundary of the day, because clocks also change at midnight. All current offsets are whole
 * quarters of an hour.
 */
function startOfDay(day: LocalDay, zone: string): number {
  let ms = msOf(day);
  while (today(zone, ms) >= day) ms -= 12 * intervalMs;
  while (today(zone, ms) < day) ms += intervalMs;
  return ms;
}

/** True for a zone that the browser knows. */
export function isZone(text: string | undefined): text is string {
  if (!text) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/**
 * The zones that a day can be shown in: that of the workgroup, that of the browser, UTC, and the one of the
 * address.
 */
export function zoneChoices(own: string, chosen: string): Array<{ key: string; name: string }> {
  const browser = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const all = [...new Set([own, browser, 'UTC', chosen])];
  const words: Readonly<Record<string, string>> = { [browser]: ', this browser', [own]: ', workgroup' };
  return all.map((zone) => ({ key: zone, name: `${zone}${words[zone] ?? ''}` }));
}
