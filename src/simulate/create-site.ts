import { LRUCache } from 'lru-cache';
import type { EnergyStreamInput } from '../config/energy-stream.ts';
import { InputError } from '../lib/errors.ts';
import {
  addDays,
  INTERVAL_MS,
  isTimeZone,
  type LocalDate,
  localDateOf,
  MINUTE_MS,
  type UtcMs,
} from '../lib/time.ts';
import type { SourceRole } from '../roles/role.ts';
import { type Arrival, arrivalsOfDay, byArrival, type SiteItem } from './arrivals.ts';
import { createCalendar } from './calendar.ts';
import { type DailyTruth, truthOf } from './daily-truth.ts';
import { ARRIVAL_DELAY_MS_MAX } from './outage.ts';
import { type DeviceKind, planSite, siteEnergyStreams } from './plan-site.ts';

/**
 * A simulated site. Its devices behave like real ones: they restart, lose their connection, repeat messages
 * and deliver late.
 */
export interface Site {
  readonly timezone: string;
  readonly startMs: UtcMs;
  /** The configuration of energy fields and devices for the workgroup. */
  readonly energyStreams: EnergyStreamInput[];
  readonly devices: Array<{ id: string; name: string; totalSource?: string }>;
  /** The roles of the sources. */
  readonly roles: Array<{ device: string; source?: string; role: SourceRole }>;
  /**
   * The arrivals before `untilMs` since the last call, in order. Each request has a few minutes of one table,
   * as a gateway sends them. Each arrival is returned once.
   */
  messagesUntil(untilMs: UtcMs): Iterable<SiteMessages>;
  /** The arrivals in any window [fromMs, untilMs). It does not change what `messagesUntil` returns. */
  arrivals(fromMs: UtcMs, untilMs: UtcMs): Arrival[];
  /** The energy of a local day by device and source; see `truthOf` for the rule. */
  truth(day: LocalDate, untilMs?: UtcMs): DailyTruth[];
  /** The instant when everything has arrived that the energy of this day depends on. */
  settledMs(day: LocalDate): UtcMs;
}

interface SiteMessages {
  table: string;
  items: SiteItem[];
}

export interface SiteOptions {
  seed: number;
  timezone: string;
  /** The instant of the first reading. */
  startMs: UtcMs;
  /** The number of devices. With three or more, one is a meter and one a battery. Default: 6. */
  devices?: number;
  /**
   * Milliseconds between two readings of a device. It must divide 15 minutes, so that there are readings at
   * midnight. Default: a minute.
   */
  readingEveryMs?: number;
}

const WINDOW_MS = 5 * MINUTE_MS;
const DAYS_KEPT = 3;

/** Creates a site. The same options always give the same messages, in any order of calls. */
export function createSite(options: SiteOptions): Site {
  checkOptions(options);
  const { seed, timezone, startMs, devices = 6, readingEveryMs = MINUTE_MS } = options;
  const plan = planSite(seed, devices);
  const calendar = createCalendar(plan, timezone, startMs, readingEveryMs);
  const arrivalsByDay = new LRUCache<LocalDate, Arrival[]>({ max: DAYS_KEPT });
  let cursorMs = startMs;

  function arrivalsOn(day: LocalDate): Arrival[] {
    const found = arrivalsByDay.get(day);
    if (found) return found;
    const made = arrivalsOfDay(plan, calendar, calendar.dayOf(day)).filter(
      // A device that was unreachable when the site began is not reported.
      ({ item }) => item.event_time >= startMs,
    );
    arrivalsByDay.set(day, made);
    return made;
  }

  function arrivals(fromMs: UtcMs, untilMs: UtcMs): Arrival[] {
    if (untilMs <= startMs) return [];
    const inRange: Arrival[] = [];
    const lastDay = localDateOf(untilMs, timezone);
    let day = localDateOf(Math.max(startMs, fromMs - ARRIVAL_DELAY_MS_MAX), timezone);
    for (; day <= lastDay; day = addDays(day, 1)) {
      const all = arrivalsOn(day);
      for (let at = firstAt(all, fromMs); at < all.length && all[at]!.arrivedMs < untilMs; at++)
        inRange.push(all[at]!);
    }
    return inRange.sort(byArrival);
  }

  return {
    timezone,
    startMs,
    energyStreams: siteEnergyStreams.map((stream) => ({ ...stream })),
    devices: plan.devices.map(({ deviceId, name, kind }) => ({
      id: deviceId,
      name,
      // The two sources are directions of one flow, which must not be added up.
      ...(kind === 'meter' && { totalSource: 'import' }),
      ...(kind === 'battery' && { totalSource: 'discharge' }),
    })),
    roles: plan.devices.flatMap(({ deviceId: device, kind }) =>
      rolesOf[kind].map((one) => ({ device, ...one })),
    ),
    arrivals,
    *messagesUntil(untilMs) {
      while (cursorMs < untilMs) {
        const fromMs = cursorMs;
        cursorMs = Math.min(fromMs + WINDOW_MS, untilMs);
        for (const [table, group] of Map.groupBy(arrivals(fromMs, cursorMs), (arrival) => arrival.table)) {
          yield { table, items: group.map(({ item }) => item) };
        }
      }
    },
    truth: (day, untilMs = Number.POSITIVE_INFINITY) => truthOf(calendar, day, untilMs),
    settledMs: (day) => calendar.boundsOf(day).endMs + ARRIVAL_DELAY_MS_MAX,
  };
}

const rolesOf: Readonly<Record<DeviceKind, Array<{ source?: string; role: SourceRole }>>> = {
  inverter: [{ role: 'production' }],
  meter: [
    { source: 'import', role: 'grid_import' },
    { source: 'export', role: 'grid_export' },
  ],
  battery: [
    { source: 'charge', role: 'battery_charge' },
    { source: 'discharge', role: 'battery_discharge' },
  ],
};

/** The index of the first arrival at or after an instant. */
function firstAt(sorted: Arrival[], fromMs: UtcMs): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]!.arrivedMs < fromMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkOptions({ timezone, devices = 6, readingEveryMs = MINUTE_MS, startMs }: SiteOptions): void {
  const problems = [
    !isTimeZone(timezone) && { path: 'timezone', message: 'is not a time zone of the IANA database' },
    !(Number.isInteger(devices) && devices >= 1 && devices <= 10_000) && {
      path: 'devices',
      message: 'must be a number from 1 to 10000',
    },
    !(readingEveryMs >= 1_000 && INTERVAL_MS % readingEveryMs === 0) && {
      path: 'readingEveryMs',
      message: 'must be at least a second and divide 15 minutes',
    },
    !Number.isSafeInteger(startMs) && { path: 'startMs', message: 'must be whole milliseconds since 1970' },
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new InputError('the simulated site', problems);
}
