import { type LocalDay, msOf, shiftDay, today } from './local-days.ts';
import { intervalMs } from './time-units.ts';

/** The first instants of a day and of the day after it in a time zone, in ms since 1970. */
export function boundsOfDay(day: LocalDay, zone: string): { startMs: number; endMs: number } {
  return { startMs: startOfDay(day, zone), endMs: startOfDay(shiftDay(day, 1), zone) };
}

/**
 * Looks for the beginning of the day in steps, because clocks can change at midnight. All current offsets are
 * whole quarters of an hour, so a step is a quarter of an hour.
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
 * The zones in which a day can be shown: the zone of the workgroup, the zone of the browser, UTC, and the
 * zone in the address.
 */
export function zoneChoices(own: string, chosen: string): Array<{ key: string; name: string }> {
  const browser = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const all = [...new Set([own, browser, 'UTC', chosen])];
  const words: Readonly<Record<string, string>> = { [browser]: ', this browser', [own]: ', workgroup' };
  return all.map((zone) => ({ key: zone, name: `${zone}${words[zone] ?? ''}` }));
}
