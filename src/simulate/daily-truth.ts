import { DEFAULT_SOURCE } from '../contract/messages.ts';
import { addDays, type LocalDate, type UtcMs } from '../lib/time.ts';
import type { Calendar } from './calendar.ts';

export interface DailyTruth {
  device: string;
  source: string;
  energyWh: number;
}

/**
 * The exact energy (Wh) of a local day by device and source, as the model counted it. It is the growth of the
 * counter between two instants, not a value of a register, so restarts do not change it. The instants are the
 * bounds of the day, limited to the device's first reading ever and its last reading up to `untilMs`.
 *
 * The messages show the same energy when all have arrived. Panels count nothing between their last reading of
 * a day and the first reading of the next day. All other devices are read at midnight. A counter restarts
 * right after a reading. A day without readings around it has no entry.
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
