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
import { arrivalDelayMsMax } from './outage.ts';
import { type DeviceKind, planSite, siteEnergyStreams } from './plan-site.ts';

/** A simulated site whose devices behave like real ones: they restart, drop out, repeat themselves and come late. */
export interface Site {
  readonly timezone: string;
  readonly startMs: UtcMs;
  /** What the configuration of its workgroup says of the fields that tell energy, and of its devices. */
  readonly energyStreams: EnergyStreamInput[];
  readonly devices: Array<{ id: string; name: string; totalSource?: string }>;
  /** What the energy of its sources is. */
  readonly roles: Array<{ device: string; source?: string; role: SourceRole }>;
  /**
   * What arrives before `untilMs`, from where the last call ended: items in the order of their arrival, a few minutes'
   * worth of one table together, as a gateway sends them. Each arrival is handed out once.
   */
  messagesUntil(untilMs: UtcMs): Iterable<SiteMessages>;
  /** The same for any window [fromMs, untilMs) of arrival, without moving on. */
  arrivals(fromMs: UtcMs, untilMs: UtcMs): Arrival[];
  /** The energy of a local day by device and source that the messages tell; see `truthOf` for the rule. */
  truth(day: LocalDate, untilMs?: UtcMs): DailyTruth[];
  /** By then everything that the energy of this day depends on has arrived. */
  settledMs(day: LocalDate): UtcMs;
}

export interface SiteMessages {
  table: string;
  items: SiteItem[];
}

export interface SiteOptions {
  seed: number;
  timezone: string;
  /** The first instant that is read. */
  startMs: UtcMs;
  /** How many devices; from three on there are a meter and a battery among them. Default 6. */
  devices?: number;
  /** Between two readings of a device; must divide 15 minutes, so that midnights are met. Default a minute. */
  readingEveryMs?: number;
}

const WINDOW_MS = 5 * MINUTE_MS;
const DAYS_KEPT = 3;

/** Builds the site. The same options give the same messages, whatever is asked of it and in which order. */
export function createSite(options: SiteOptions): Site {
  checkOptions(options);
  const { seed, timezone, startMs, devices = 6, readingEveryMs = MINUTE_MS } = options;
  const plan = planSite(seed, devices);
  const calendar = createCalendar(plan, timezone, startMs, readingEveryMs);
  const kept = new LRUCache<LocalDate, Arrival[]>({ max: DAYS_KEPT });
  let cursorMs = startMs;

  function arrivalsOn(day: LocalDate): Arrival[] {
    const found = kept.get(day);
    if (found) return found;
    const made = arrivalsOfDay(plan, calendar, calendar.dayOf(day)).filter(
      // A device that was out of reach when the site began is not reported.
      ({ item }) => item.event_time >= startMs,
    );
    kept.set(day, made);
    return made;
  }

  function arrivals(fromMs: UtcMs, untilMs: UtcMs): Arrival[] {
    if (untilMs <= startMs) return [];
    const found: Arrival[] = [];
    const lastDay = localDateOf(untilMs, timezone);
    let day = localDateOf(Math.max(startMs, fromMs - arrivalDelayMsMax), timezone);
    for (; day <= lastDay; day = addDays(day, 1)) {
      const all = arrivalsOn(day);
      for (let at = firstAt(all, fromMs); at < all.length && all[at]!.arrivedMs < untilMs; at++)
        found.push(all[at]!);
    }
    return found.sort(byArrival);
  }

  return {
    timezone,
    startMs,
    energyStreams: siteEnergyStreams.map((stream) => ({ ...stream })),
    devices: plan.devices.map(({ deviceId, name, kind }) => ({
      id: deviceId,
      name,
      // Their sources are two directions, which do not add up to anything.
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
    settledMs: (day) => calendar.boundsOf(day).endMs + arrivalDelayMsMax,
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

/** The first arrival at or after an instant. */
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
