import type { WorkgroupConfig } from '../../config/config.ts';
import { findDevice } from '../../config/find-device.ts';
import { InputError } from '../../lib/errors.ts';
import {
  dayBounds,
  formatLocal,
  HOUR_MS,
  isLocalDate,
  type LocalDate,
  localInstant,
  parseInstant,
  type UtcMs,
} from '../../lib/time.ts';
import { parseQuantity } from '../../lib/units.ts';

export interface StretchOptions {
  day?: string;
  from?: string;
  to?: string;
}

/** The time that a correction is about: a local day, or from one instant to another. @throws InputError */
export function stretchOf(
  { day, from, to }: StretchOptions,
  { timezone }: WorkgroupConfig,
): { fromMs: UtcMs; toMs: UtcMs } {
  if (day !== undefined) {
    if (from !== undefined || to !== undefined) throw problem('--day', 'stands alone, or --from and --to do');
    const { startMs, endMs } = dayBounds(dayOf(day), dayOf(day), timezone)[0]!;
    if (endMs <= startMs) throw problem('--day', `${timezone} left ${day} out: there was no such day`);
    return { fromMs: startMs, toMs: endMs };
  }
  if (from === undefined || to === undefined)
    throw problem(from === undefined ? '--from' : '--to', 'is missing; name --from and --to, or --day');
  return { fromMs: instantOf('--from', from, timezone), toMs: instantOf('--to', to, timezone) };
}

export function dayOf(text: string): LocalDate {
  if (isLocalDate(text)) return text;
  throw problem('--day', `"${text}" is no day that exists; write it as 2026-05-17`);
}

/** An instant with its offset, or a time as a clock in the zone shows it, where it shows it once. */
function instantOf(path: string, text: string, zone: string): UtcMs {
  const instant = parseInstant(text);
  if (instant !== undefined) return instant;
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})$/.exec(text);
  const [, day = '', hour, minute] = match ?? [];
  if (!isLocalDate(day) || Number(hour) > 23 || Number(minute) > 59)
    throw problem(
      path,
      `"${text}" is no time; write it as 2026-05-17T13:00, or with its offset, 2026-05-17T13:00+02:00`,
    );
  const ms = localInstant(day, Number(hour), Number(minute), zone);
  const shown = `${day} ${hour}:${minute}`;
  if (!formatLocal(ms, zone).startsWith(shown))
    throw problem(path, `no clock in ${zone} shows ${shown}: it was skipped`);
  if ([0.5, 1].some((hours) => formatLocal(ms + hours * HOUR_MS, zone).startsWith(shown)))
    throw problem(
      path,
      `clocks in ${zone} show ${shown} twice; add the offset, such as ${text}${formatLocal(ms, zone).slice(19)}`,
    );
  return ms;
}

/** @returns whole Wh */
export function energyOf(text: string): number {
  const energyWh = parseQuantity('energy', text);
  if (energyWh === undefined)
    throw problem('--energy', `"${text}" is no energy; write it with its unit: 350 Wh, "3.5 MWh"`);
  return Math.round(energyWh);
}

export function deviceOf(workgroup: WorkgroupConfig, text: string, path = 'device'): string {
  const id = findDevice(workgroup, text);
  if (id !== undefined) return id;
  throw problem(
    path,
    `"${text}" is neither a device id (a UUID) nor a configured name of workgroup ${workgroup.id}`,
  );
}

/** Another source: `<device>/<source>`, or a device alone, whose source is "default". */
export function likeOf(text: string, workgroup: WorkgroupConfig): { device: string; source: string } {
  const [device = '', ...rest] = text.split('/');
  return { device: deviceOf(workgroup, device, '--like'), source: rest.join('/') || 'default' };
}

function problem(path: string, message: string): InputError {
  return new InputError('the command line', [{ path, message }]);
}
