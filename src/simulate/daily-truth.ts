import { DEFAULT_SOURCE } from '../contract/messages.ts';
import { addDays, type LocalDate, type UtcMs } from '../lib/time.ts';
import type { Calendar } from './calendar.ts';

export interface DailyTruth {
  device: string;
  source: string;
  energyWh: number;
}

/**
 * The energy (Wh) of a local day by device and source, exactly, as the generating model counted it: its growth between
 * two instants, never a register's value, so restarts do not touch it. The instants are the day's bounds, brought in to
 * the device's first reading ever (where its daily register starts from zero too) and to its last one up to `untilMs`.
 *
 * The messages tell the same once all have arrived: panels count nothing between their last reading of a day and the
 * first one of the next, every other device is read at midnight itself, and a counter restarts right after a reading.
 * Where readings surround no part of the day there is no entry.
 */
export function truthOf(calendar: Calendar, day: LocalDate, untilMs: UtcMs): DailyTruth[] {
  if (day < calendar.firstDay) return [];
  const today = calendar.dayOf(day);
  const { startMs: dayStartMs, endMs: dayEndMs } = today.bounds;
  const next = untilMs >= dayEndMs ? calendar.dayOf(addDays(day, 1)) : undefined;
  const before = day === calendar.firstDay ? undefined : calendar.dayOf(addDays(day, -1));
  return today.series.flatMap(({ device, source, timesMs, growthWh, totalWh }, number) => {
    const isReadBefore = before !== undefined && before.series[number]!.timesMs.length > 0;
    const isReadAfter = next?.series[number]?.timesMs.some((ms) => ms <= untilMs) ?? false;
    const last = timesMs.findLastIndex((ms) => ms <= untilMs);
    const fromMs = isReadBefore ? dayStartMs : timesMs[0];
    const toMs = isReadAfter ? dayEndMs : timesMs[last];
    if (fromMs === undefined || toMs === undefined || fromMs >= toMs) return [];
    const energyWh = isReadAfter ? totalWh : growthWh[last]!;
    return [{ device: device.deviceId, source: source.name ?? DEFAULT_SOURCE, energyWh }];
  });
}
