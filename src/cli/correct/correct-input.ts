import type { WorkgroupConfig } from '../../config/config.ts';
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
import { chooseDevice } from '../choose-device.ts';
import { commandLineError } from '../command-line-error.ts';

export interface StretchOptions {
  day?: string;
  from?: string;
  to?: string;
}

/** The period of a correction: a local day, or from one instant to another. @throws InputError */
export function stretchOf(
  { day, from, to }: StretchOptions,
  { timezone }: WorkgroupConfig,
): { fromMs: UtcMs; toMs: UtcMs } {
  if (day !== undefined) {
    if (from !== undefined || to !== undefined)
      throw commandLineError('--day', 'cannot be combined with --from and --to');
    const { startMs, endMs } = dayBounds(parseDay(day), parseDay(day), timezone)[0]!;
    if (endMs <= startMs) throw commandLineError('--day', `the day ${day} does not exist in ${timezone}`);
    return { fromMs: startMs, toMs: endMs };
  }
  if (from === undefined || to === undefined)
    throw commandLineError(
      from === undefined ? '--from' : '--to',
      'is missing; name --from and --to, or --day',
    );
  return { fromMs: readInstant('--from', from, timezone), toMs: readInstant('--to', to, timezone) };
}

export function parseDay(text: string): LocalDate {
  if (isLocalDate(text)) return text;
  throw commandLineError('--day', `"${text}" is not an existing day; write it as 2026-05-17`);
}

/** An instant with its offset, or a local time that clocks of the zone show exactly once. */
function readInstant(path: string, text: string, zone: string): UtcMs {
  const instant = parseInstant(text);
  if (instant !== undefined) return instant;
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})$/.exec(text);
  const [, day = '', hour, minute] = match ?? [];
  if (!isLocalDate(day) || Number(hour) > 23 || Number(minute) > 59)
    throw commandLineError(
      path,
      `"${text}" is not a time; write it as 2026-05-17T13:00, or with its offset, 2026-05-17T13:00+02:00`,
    );
  const ms = localInstant(day, Number(hour), Number(minute), zone);
  const localTime = `${day} ${hour}:${minute}`;
  if (!formatLocal(ms, zone).startsWith(localTime))
    throw commandLineError(path, `clocks in ${zone} never show ${localTime}, because they are put forward`);
  if ([0.5, 1].some((hours) => formatLocal(ms + hours * HOUR_MS, zone).startsWith(localTime)))
    throw commandLineError(
      path,
      `clocks in ${zone} show ${localTime} twice; add the offset, such as ${text}${formatLocal(ms, zone).slice(19)}`,
    );
  return ms;
}

/** @returns whole Wh */
export function energyOf(text: string): number {
  const energyWh = parseQuantity('energy', text);
  if (energyWh === undefined)
    throw commandLineError(
      '--energy',
      `"${text}" is not an energy; write it with its unit: 350 Wh, "3.5 MWh"`,
    );
  return Math.round(energyWh);
}

/** Another source: `<device>/<source>`, or only a device, with the source "default". */
export function parseLike(text: string, workgroup: WorkgroupConfig): { device: string; source: string } {
  const [device = '', ...rest] = text.split('/');
  return { device: chooseDevice(workgroup, device, '--like'), source: rest.join('/') || 'default' };
}
