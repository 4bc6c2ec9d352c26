import { DEVICE_STATUS_TABLE, type DeviceStatusItem, type TelemetryItem } from '../contract/messages.ts';
import { addDays, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { type Calendar, registerWh, type SiteDay } from './calendar.ts';
import { fieldsOf } from './device-fields.ts';
import { arrivalsOf, type Outage, outageOf } from './outage.ts';
import type { PlannedDevice, SitePlan } from './plan-site.ts';

export type SiteItem = TelemetryItem | DeviceStatusItem;

/** One arrival of an item. An item that is sent again arrives twice. */
export interface Arrival {
  arrivedMs: UtcMs;
  table: string;
  item: SiteItem;
}

/** The gateway reports an unreachable device after this time. */
const DETECTION_MS = MINUTE_MS;
const STATUS_LATENCY_MS = 500;

/** All items that were measured on one day, in the order of their arrival. */
export function arrivalsOfDay(plan: SitePlan, calendar: Calendar, day: SiteDay): Arrival[] {
  return plan.devices
    .flatMap((device) => {
      const outages = outagesDuring(plan, calendar, day, device);
      return [...readingsOf(plan, day, device, outages), ...statusesOf(day, device, outages)];
    })
    .sort(byArrival);
}

/** The order of arrival. It does not depend on the requested window. */
export function byArrival(left: Arrival, right: Arrival): number {
  return (
    left.arrivedMs - right.arrivedMs ||
    left.item.event_time - right.item.event_time ||
    (left.item.device < right.item.device ? -1 : left.item.device > right.item.device ? 1 : 0)
  );
}

/** The outages during a day. One may have begun the day before. */
function outagesDuring(plan: SitePlan, calendar: Calendar, day: SiteDay, device: PlannedDevice): Outage[] {
  const begun = outageOf(plan, device, day.bounds, day.dayNumber);
  const before =
    day.dayNumber > 0
      ? outageOf(plan, device, calendar.boundsOf(addDays(day.bounds.day, -1)), day.dayNumber - 1)
      : undefined;
  return [before, begun].filter((outage) => outage !== undefined);
}

function readingsOf(plan: SitePlan, day: SiteDay, device: PlannedDevice, outages: Outage[]): Arrival[] {
  return day.series.flatMap((series, number) => {
    if (series.device !== device) return [];
    const part = device.sources.indexOf(series.source);
    return series.timesMs.flatMap((eventMs, index) => {
      const item: TelemetryItem = {
        device: device.deviceId,
        ...(series.source.name !== null && { source: series.source.name }),
        event_time: eventMs,
        msg_id: day.dayNumber * 1_000_000 + index * device.sources.length + part,
        data: fieldsOf(plan, series, index, {
          registerWh: registerWh(day, number, index),
          todayWh: todayWh(day, number, index),
        }),
      };
      return arrivalsOf(plan, device, part, eventMs, outages).map((arrivedMs) => ({
        arrivedMs,
        table: device.table,
        item,
      }));
    });
  });
}

/**
 * The daily register. Some inverters still show yesterday's value when they wake up, as many real inverters
 * do.
 */
function todayWh(day: SiteDay, number: number, index: number): number {
  const { device, growthWh } = day.series[number]!;
  const showsYesterday = device.ordinal % 3 === 1 && index < 2 && day.dayNumber > 0;
  return showsYesterday ? day.dayBeforeWh[number]! : growthWh[index]!;
}

/** The device status messages of a day: reachable or not, and for inverters awake or not. */
function statusesOf(day: SiteDay, device: PlannedDevice, outages: Outage[]): Arrival[] {
  const status = (state: 'online' | 'offline', eventMs: UtcMs, reason: string): Arrival => ({
    arrivedMs: eventMs + STATUS_LATENCY_MS,
    table: DEVICE_STATUS_TABLE,
    item: { device: device.deviceId, state, event_time: eventMs, reason },
  });
  const begun = outages.filter(({ startMs }) => startMs >= day.bounds.startMs);
  const reach = begun.flatMap(({ startMs, endMs }) => [
    status('offline', startMs + DETECTION_MS, 'connection lost'),
    status('online', endMs, 'connection restored'),
  ]);
  const timesMs = day.series.find((series) => series.device === device)?.timesMs ?? [];
  if (device.kind !== 'inverter' || timesMs.length === 0) return reach;
  return [
    status('online', timesMs[0]!, 'awake'),
    status('offline', timesMs.at(-1)! + DETECTION_MS, 'asleep'),
    ...reach,
  ];
}
