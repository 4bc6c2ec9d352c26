import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { deviceStatusItemSchema, telemetryItemSchema } from '../../src/contract/messages.ts';
import { addDays, DAY_MS, dayStart, HOUR_MS, localDateOf, MINUTE_MS } from '../../src/lib/time.ts';
import type { Arrival } from '../../src/simulate/arrivals.ts';
import { createSite, type Site, type SiteOptions } from '../../src/simulate/create-site.ts';
import { createBattery } from '../../src/simulate/modelled-power.ts';
import { ARRIVAL_DELAY_MS_MAX } from '../../src/simulate/outage.ts';
import { rounds } from '../support/rounds.ts';

const zone = 'Europe/Paris';
const startMs = dayStart('2026-03-20', zone);

function siteOf(options: Partial<SiteOptions> = {}): Site {
  return createSite({ seed: 7, timezone: zone, startMs, readingEveryMs: 5 * MINUTE_MS, ...options });
}

/** The arrivals up to the one with the last reading before `untilMs`. */
function arrivalsThrough(site: Site, untilMs: number): Arrival[] {
  return site
    .arrivals(site.startMs, untilMs + ARRIVAL_DELAY_MS_MAX)
    .filter(({ item }) => item.event_time <= untilMs);
}

interface Reading {
  eventMs: number;
  value: number;
}

/** The distinct readings of each lifetime register by time, from the messages alone. */
function registersIn(arrivals: Arrival[]): Map<string, Reading[]> {
  const series = new Map<string, Map<number, number>>();
  for (const { item } of arrivals) {
    if (!('data' in item)) continue;
    const value = item.data.total_wh ?? item.data.register_wh;
    if (typeof value !== 'number') throw new Error('a reading without a register');
    const key = `${item.device}.${item.source ?? 'default'}`;
    const readings = series.get(key) ?? new Map<number, number>();
    readings.set(item.event_time, value);
    series.set(key, readings);
  }
  return new Map(
    [...series].map(([key, readings]) => [
      key,
      [...readings]
        .map(([eventMs, value]) => ({ eventMs, value }))
        .sort((left, right) => left.eventMs - right.eventMs),
    ]),
  );
}

/**
 * The energy between two instants, computed from the messages alone: growth from reading to reading, a fall
 * as a restart at zero, and straight lines between readings.
 */
function energyBetween(readings: Reading[], fromMs: number, toMs: number): number | undefined {
  const index: Reading[] = [];
  for (const reading of readings) {
    const before = index.at(-1);
    const last = readings[index.length - 1];
    const growth =
      last === undefined ? 0 : reading.value >= last.value ? reading.value - last.value : reading.value;
    index.push({ eventMs: reading.eventMs, value: (before?.value ?? 0) + growth });
  }
  const at = (ms: number): Reading | undefined => {
    const after = index.findIndex(({ eventMs }) => eventMs >= ms);
    if (after === -1) return index.at(-1);
    const right = index[after]!;
    const left = index[after - 1];
    if (right.eventMs === ms || left === undefined) return right;
    const share = (ms - left.eventMs) / (right.eventMs - left.eventMs);
    return { eventMs: ms, value: left.value + (right.value - left.value) * share };
  };
  const from = at(fromMs);
  const to = at(toMs);
  if (!from || !to || to.eventMs <= from.eventMs) return undefined;
  return Math.round(to.value) - Math.round(from.value);
}

function truthByMessages(
  site: Site,
  day: string,
  untilMs = Number.POSITIVE_INFINITY,
): Record<string, number> {
  const from = dayStart(day, site.timezone);
  const to = dayStart(addDays(day, 1), site.timezone);
  // Two days later, so that readings after the last bound have arrived.
  const arrivals = arrivalsThrough(site, Math.min(untilMs, to + 2 * DAY_MS));
  const energies = [...registersIn(arrivals)].map(
    ([key, readings]) => [key, energyBetween(readings, from, to)] as const,
  );
  return Object.fromEntries(energies.filter((entry): entry is [string, number] => entry[1] !== undefined));
}

function truthOf(site: Site, day: string, untilMs?: number): Record<string, number> {
  return Object.fromEntries(
    site.truth(day, untilMs).map(({ device, source, energyWh }) => [`${device}.${source}`, energyWh]),
  );
}

describe('the truth', () => {
  test('follows from the messages, for any seed, zone, start and day', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer(),
          timezone: fc.constantFrom(
            'Etc/UTC',
            'Europe/Paris',
            'America/Sao_Paulo',
            'Asia/Kolkata',
            'Australia/Lord_Howe',
          ),
          startMs: fc.integer({ min: Date.parse('2025-01-01'), max: Date.parse('2027-01-01') }),
          devices: fc.integer({ min: 1, max: 5 }),
          readingEveryMs: fc.constantFrom(5 * MINUTE_MS, 15 * MINUTE_MS),
        }),
        fc.integer({ min: 0, max: 3 }),
        (options, later) => {
          const site = createSite(options);
          const day = addDays(localDateOf(options.startMs, options.timezone), later);
          expect(truthOf(site, day)).toEqual(truthByMessages(site, day));
        },
      ),
      { numRuns: rounds(8, 60) },
    );
  });

  test('of a day that is not over covers the readings so far', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 2 * DAY_MS }), (seed, afterMs) => {
        const site = siteOf({ seed, startMs: startMs + 5 * HOUR_MS, readingEveryMs: 15 * MINUTE_MS });
        const untilMs = site.startMs + afterMs;
        const day = localDateOf(untilMs, zone);
        expect(truthOf(site, day, untilMs)).toEqual(truthByMessages(site, day, untilMs));
      }),
      { numRuns: rounds(8, 60) },
    );
  });

  test.each([
    ['2026-03-29', 23],
    ['2026-10-25', 25],
  ])('holds on %s, a day of %i hours', (day, hours) => {
    const site = siteOf({ startMs: dayStart(addDays(day, -1), zone) });
    expect(dayStart(addDays(day, 1), zone) - dayStart(day, zone)).toBe(hours * HOUR_MS);
    expect(truthOf(site, day)).toEqual(truthByMessages(site, day));
    expect(Object.keys(truthOf(site, day))).toHaveLength(9);
  });

  test('does not change with restarts of counters, which exist', () => {
    const site = siteOf();
    const readings = registersIn(arrivalsThrough(site, startMs + 4 * DAY_MS));
    const restarts = [...readings.values()].flatMap((series) =>
      series.filter(({ value }, at) => at > 0 && value < series[at - 1]!.value),
    );
    expect(restarts.length).toBeGreaterThanOrEqual(3);
    for (let day = 0; day < 4; day++) {
      const name = addDays('2026-03-20', day);
      expect(truthOf(site, name)).toEqual(truthByMessages(site, name));
    }
  });

  test('has the size of a house: kilowatt-hours from the sun, and the evening from the battery', () => {
    const site = siteOf({ devices: 6 });
    const byName = Object.fromEntries(
      site.devices.map(({ id, name }) => [
        name,
        site
          .truth('2026-03-21')
          .filter(({ device }) => device === id)
          .reduce((sum, { energyWh }) => sum + energyWh, 0),
      ]),
    );
    expect(byName['inverter 1']).toBeGreaterThan(2_000);
    expect(byName['inverter 1']).toBeLessThan(60_000);
    expect(byName.battery).toBeGreaterThan(4_000);
    expect(byName['grid meter']).toBeGreaterThan(2_000);
  });

  test('equals the daily registers, although some still show yesterday in the morning', () => {
    const site = siteOf();
    const day = '2026-03-21';
    const from = dayStart(day, zone);
    const to = dayStart(addDays(day, 1), zone);
    const daily = new Map<string, Map<number, number>>();
    for (const { item } of arrivalsThrough(site, to)) {
      if (!('data' in item) || typeof item.data.today_wh !== 'number' || item.event_time < from) continue;
      const key = `${item.device}.${item.source ?? 'default'}`;
      daily.set(key, (daily.get(key) ?? new Map<number, number>()).set(item.event_time, item.data.today_wh));
    }
    let stale = 0;
    for (const [key, byTime] of daily) {
      const values = [...byTime].sort(([left], [right]) => left - right).map(([, value]) => value);
      // Before the register falls, it shows yesterday's value.
      const fall = values.findIndex((value, at) => at > 0 && value < values[at - 1]!);
      if (fall > 0) stale++;
      expect(values.at(-1)).toBe(truthOf(site, day)[key]);
      expect(Math.max(...values.slice(Math.max(0, fall)))).toBe(values.at(-1));
    }
    expect(stale).toBeGreaterThan(0);
    expect(stale).toBeLessThan(daily.size);
  });

  test('is empty before the site began', () => {
    expect(siteOf().truth('2026-03-19')).toEqual([]);
  });
});

describe('the messages', () => {
  test.each([1, 2, 3, 4])('are the same for the same seed, for all questions in any order (%i)', (seed) => {
    const untilMs = startMs + 3 * DAY_MS;
    const whole = siteOf({ seed }).arrivals(startMs, untilMs);
    const asked = siteOf({ seed });
    asked.truth('2026-03-29');
    const parts: Arrival[] = [];
    const widths = [HOUR_MS, 7 * MINUTE_MS + 1, 11 * HOUR_MS];
    for (let fromMs = startMs, turn = 0; fromMs < untilMs; turn++) {
      const toMs = Math.min(untilMs, fromMs + widths[turn % widths.length]!);
      parts.push(...asked.arrivals(fromMs, toMs));
      fromMs = toMs;
    }
    expect(parts).toEqual(whole);
    expect(siteOf({ seed: seed + 9 }).arrivals(startMs, untilMs)).not.toEqual(whole);
  });

  test('are returned once, in the order of their arrival within a table', () => {
    const site = siteOf();
    const untilMs = startMs + DAY_MS;
    const byTable = new Map<string, unknown[]>();
    for (const stepMs of [HOUR_MS, 90_000, DAY_MS, DAY_MS]) {
      for (const { table, items } of site.messagesUntil(Math.min(untilMs, startMs + stepMs))) {
        byTable.set(table, [...(byTable.get(table) ?? []), ...items]);
      }
    }
    for (const [table, items] of byTable) {
      const expected = site.arrivals(startMs, untilMs).filter((arrival) => arrival.table === table);
      expect(items).toEqual(expected.map(({ item }) => item));
    }
    expect([...byTable.keys()].sort()).toEqual(['battery', 'devices', 'grid', 'solar']);
  });

  test('are valid for the contract', () => {
    for (const { item, table } of siteOf().arrivals(startMs, startMs + DAY_MS)) {
      if (table === 'devices') deviceStatusItemSchema.parse(item);
      else {
        const { data } = telemetryItemSchema.parse(item);
        const kinds = Object.values(data).map((value) => typeof value);
        expect(kinds.filter((kind) => kind === 'number').length).toBeGreaterThanOrEqual(9);
        expect(kinds).toContain('string');
      }
    }
  });

  test('never arrive before their reading, and never later than the documented delay', {
    tags: ['slow'],
  }, () => {
    const site = siteOf({ seed: 11 });
    for (const { item, arrivedMs } of site.arrivals(startMs, startMs + 5 * DAY_MS)) {
      expect(item.event_time).toBeGreaterThanOrEqual(startMs);
      expect(arrivedMs).toBeGreaterThan(item.event_time);
      expect(arrivedMs).toBeLessThan(item.event_time + ARRIVAL_DELAY_MS_MAX);
      expect(arrivedMs).toBeLessThan(site.settledMs(localDateOf(item.event_time, zone)));
    }
  });

  test('are repeated, overtake each other, and arrive together after an outage', { tags: ['slow'] }, () => {
    const arrivals = siteOf({ readingEveryMs: MINUTE_MS }).arrivals(startMs, startMs + 2 * DAY_MS);
    const readings = arrivals.filter(({ item }) => 'data' in item);
    const keys = readings.map(
      ({ item }) => `${item.device} ${'source' in item ? item.source : ''} ${item.event_time}`,
    );
    const repeated = keys.length - new Set(keys).size;
    expect(repeated / keys.length).toBeGreaterThan(0.005);
    expect(repeated / keys.length).toBeLessThan(0.05);

    const late = readings.filter(({ item, arrivedMs }) => arrivedMs - item.event_time > 10 * MINUTE_MS);
    expect(late.length).toBeGreaterThan(10);
    const overtaken = readings.filter(({ item }, at) =>
      readings
        .slice(Math.max(0, at - 200), at)
        .some((earlier) => earlier.item.device === item.device && earlier.item.event_time > item.event_time),
    );
    expect(overtaken.length).toBeGreaterThan(20);
    const stragglers = readings.filter(({ item, arrivedMs }) => {
      const delayMs = arrivedMs - item.event_time;
      return delayMs > 30_000 && delayMs < 5 * MINUTE_MS;
    });
    expect(stragglers.length / readings.length).toBeGreaterThan(0.01);
  });

  test('stop at night for panels, and count at midnight for meters', () => {
    const site = siteOf();
    const midnight = dayStart('2026-03-21', zone);
    const around = site
      .arrivals(startMs, startMs + 3 * DAY_MS)
      .filter(({ item }) => 'data' in item && Math.abs(item.event_time - midnight) < 3 * HOUR_MS);
    expect(around.some(({ table }) => table === 'solar')).toBe(false);
    const exact = around.filter(({ item }) => item.event_time === midnight).map(({ table }) => table);
    expect(exact).toEqual(expect.arrayContaining(['grid', 'battery']));
  });

  test('report when a device is unreachable and when it is back', () => {
    const site = siteOf();
    const statuses = site
      .arrivals(startMs, startMs + 3 * DAY_MS)
      .flatMap(({ item }) => ('state' in item ? [item] : []));
    const reasons = new Set(statuses.map(({ state, reason }) => `${state}: ${reason}`));
    expect([...reasons].sort()).toEqual([
      'offline: asleep',
      'offline: connection lost',
      'online: awake',
      'online: connection restored',
    ]);
  });
});

test('each reading of a device has a message id of its own, also over midnight, and a repetition has the same', () => {
  const times = new Map<string, string>();
  for (const { item } of arrivalsThrough(siteOf(), startMs + 2 * DAY_MS)) {
    if (!('data' in item)) continue;
    const { msg_id: id, device, source = '', event_time } = item;
    expect(Number.isSafeInteger(id)).toBe(true);
    const key = `${device} ${id}`;
    expect(times.get(key) ?? `${source} ${event_time}`).toBe(`${source} ${event_time}`);
    times.set(key, `${source} ${event_time}`);
  }
  expect(times.size).toBeGreaterThan(1_000);
});

test('the configuration accepts the streams and devices of a site', () => {
  const { energyStreams, devices, timezone } = siteOf({ devices: 8 });
  const config = configSchema.parse({ workgroups: [{ id: 'demo', timezone, energyStreams, devices }] });
  expect(config.workgroups[0]!.devices).toHaveLength(8);
});

test('options that cannot be simulated are refused with every problem', () => {
  const wrong = () =>
    createSite({ seed: 1, timezone: 'Mars', startMs: 0.5, devices: 0, readingEveryMs: 7_777 });
  expect(wrong).toThrow(/timezone.*[\s\S]*devices.*[\s\S]*readingEveryMs.*[\s\S]*startMs/);
});

test('a battery takes a surplus by day, and gives away in the evening what is above its reserve', () => {
  const startMs = Date.UTC(2026, 10, 20);
  const battery = createBattery({ day: '2026-11-20', startMs, endMs: startMs + DAY_MS });
  expect(battery.storedWh()).toBe(1_500);
  expect(battery.step(startMs + 12 * HOUR_MS, HOUR_MS, 3_000)).toBe(3_000);
  expect(battery.step(startMs + 13 * HOUR_MS, HOUR_MS, -500)).toBe(0);
  for (let hour = 17; hour < 24; hour++) battery.step(startMs + hour * HOUR_MS, HOUR_MS, 0);
  expect(battery.storedWh()).toBe(1_500);
});
