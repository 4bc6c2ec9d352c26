// @module-tag slow
import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { workBounds } from '../../src/rollup/rule-constants.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { shared } from '../support/shared.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import {
  type CaseReading,
  DEVICE,
  type EnergySite,
  energyByDay,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

/** Changes that reach beyond the new readings. Each case is computed by hand. */

const siteOf = (stream: Partial<EnergyStreamInput>): EnergySite => ({
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'value', method: 'total_energy', ...stream } as EnergyStreamInput],
});
const at = (time: string, value: number, day = '02'): CaseReading => ({
  event_time: `2024-06-${day}T${time}:00Z`,
  data: { value },
});
/** Readings a quarter of an hour apart from the start of a day on, with the value at each place. */
const quarters = (day: string, count: number, shownAt: (place: number) => number): CaseReading[] =>
  Array.from({ length: count }, (_, place) => ({
    event_time: new Date(Date.parse(`2024-06-${day}T00:00:00Z`) + (place * HOUR_MS) / 4).toISOString(),
    data: { value: shownAt(place) },
  }));

/** More days than breaks are judged again after a change. */
const days = Array.from({ length: workBounds.decided_ahead + 4 }, (_, index) =>
  String(index + 1).padStart(2, '0'),
);

interface ReachingCase {
  stream: Partial<EnergyStreamInput>;
  inTime: readonly CaseReading[];
  /** The readings that come after the others were rolled up. */
  late: readonly CaseReading[];
}

const cases: ReadonlyArray<
  ReachingCase & {
    name: string;
    wh: Record<string, number>;
    /** The kinds of all events. */
    kinds: readonly string[];
  }
> = [
  {
    // An hour apart, the last reading covers 00:00 to 00:45 of the next day. A quarter of an hour apart, it
    // ends at midnight: 9 x 1000 and 24 x 250.
    name: 'interval readings that cover less time leave the time that they covered before',
    stream: { method: 'interval_energy' },
    inTime: Array.from({ length: 9 }, (_, hour) => at(`${hour + 15}:45`, 1_000, '01')),
    late: quarters('01', 48, () => 250).slice(24),
    wh: { '2024-06-01': 15_000 },
    kinds: [],
  },
  {
    // 20000 continues 5000 of 20:00, but not 5100 of 23:59, and is too much for an hour. So it is a spike,
    // and the day has 900.
    name: 'a late reading of the evening decides about the first reading of the next day',
    stream: { method: 'daily_energy', maxPower: '10 kW', jitter: '1 Wh' },
    inTime: [
      at('00:00', 0, '01'),
      at('20:00', 5_000, '02'),
      at('01:00', 20_000, '03'),
      at('08:00', 500, '03'),
      at('12:00', 900, '03'),
    ],
    late: [at('23:59', 5_100, '02')],
    wh: { '2024-06-02': 5_100, '2024-06-03': 900 },
    kinds: ['spike'],
  },
  {
    // The first readings of a sleeping register are left out, also one that comes later: 500037 - 500002.
    // The zero of the evening is a reset.
    name: 'a late first reading of a sleeping register is left out too',
    stream: { maxPower: '8 kW', jitter: '1 Wh' },
    inTime: [
      at('06:15', 0),
      at('06:35', 500_002),
      at('06:50', 500_002),
      at('09:15', 500_037),
      at('20:20', 0),
    ],
    late: [at('06:00', 0)],
    wh: { '2024-06-02': 35 },
    kinds: ['glitch', 'reset'],
  },
  {
    // The fall to 100 is a reset until 15000 follows. 14850 in an hour are more than 10 kW allow, and 13000
    // in three hours are not. So the low values are a glitch: 1000 and 13000.
    name: 'a way back that comes later makes a glitch of a reset',
    stream: { maxPower: '10 kW', jitter: '1 Wh' },
    inTime: [at('06:00', 1_000), at('07:00', 2_000), at('08:00', 100), at('09:00', 150)],
    late: [at('10:00', 15_000)],
    wh: { '2024-06-02': 14_000 },
    kinds: ['glitch'],
  },
  {
    // 100000 in an hour are more than the lowest limit of 50 kW, so the fall is a rebase. With the readings
    // of the day before, which grow by 4 kW, the limit is 32 x 4096 W, and the fall is a reset. 95000 and 200
    // of the 5000 after them; then 4800, 4000, 100000 and 1000.
    name: 'a fall is judged again by the limit that late readings of the day before teach',
    stream: {},
    inTime: [
      at('12:00', 900_000, '01'),
      at('12:00', 900_000, '02'),
      at('12:00', 900_000, '03'),
      at('06:00', 1_000_000, '06'),
      at('10:00', 1_004_000, '06'),
      at('11:00', 100_000, '06'),
      at('12:00', 101_000, '06'),
    ],
    late: quarters('05', 96, (place) => 900_000 + place * 1_000),
    wh: {
      '2024-06-01': 0,
      '2024-06-02': 0,
      '2024-06-03': 0,
      '2024-06-04': 0,
      '2024-06-05': 95_200,
      '2024-06-06': 109_800,
    },
    kinds: ['reset'],
  },
  {
    // Each night books 100 from zero, half of it before midnight: 2000 by day, 50 before and 50 after it.
    name: 'the resets after a late spike stay',
    stream: { maxPower: '10 kW', jitter: '1 Wh' },
    inTime: days.flatMap((day) => [at('06:00', 100, day), at('12:00', 1_100, day), at('18:00', 2_100, day)]),
    late: [at('13:00', 500_000)],
    wh: Object.fromEntries(
      days.map((day, index) => [`2024-06-${day}`, index === 0 || index === days.length - 1 ? 2_050 : 2_100]),
    ),
    kinds: [...days.slice(1).map(() => 'reset'), 'spike'],
  },
];

/** The allowed rise and one that is 1 Wh higher: 10 kW are 2500 Wh in a quarter of an hour. */
const rises = [2_600, 2_601].map((rise) => ({
  stream: { maxPower: '10 kW', jitter: '100 Wh' },
  inTime: [at('00:00', 1_000), at('00:15', 1_100), at('00:30', 1_100 + rise)],
  late: [],
}));

/** The fall to zero, the first pair up from zero, and the second one. */
const upFromZero: ReachingCase = {
  stream: { maxPower: '10 kW', jitter: '1 Wh' },
  inTime: [at('06:00', 5_000), at('08:00', 0), at('09:00', 500), at('10:00', 1_000)],
  late: [at('10:30', 1_050)],
};

const high: ReachingCase = {
  stream: {},
  inTime: [at('09:00', 1_000), at('09:30', 1_200), at('10:00', 1_600)],
  late: [at('09:15', 1_500)],
};

/** Each case has its own stream and device. */
const allCases: readonly ReachingCase[] = [...cases, ...rises, upFromZero, high];
const tableOf = (one: ReachingCase) => `case_${allCases.indexOf(one)}`;
const deviceOfCase = (one: ReachingCase) => deviceOf(allCases.indexOf(one));

/** A warehouse with all cases, because a roll-up of many devices takes as long as a roll-up of one. */
const shard = shared(async () => {
  const opened = await openTestShard();
  const site: EnergySite = {
    timezone: 'Etc/UTC',
    streams: allCases.flatMap((one) => siteOf({ ...one.stream, table: tableOf(one) }).streams),
  };
  for (const part of ['inTime', 'late'] as const) {
    const readings = allCases.flatMap((one) =>
      one[part].map((reading) => ({ ...reading, table: tableOf(one), device: deviceOfCase(one) })),
    );
    await landReadings(opened, readings);
    await rollUpSite(opened, site);
  }
  return opened;
});

test.each(cases)('$name', async (one) => {
  expect(await energyByDay(shard(), deviceOfCase(one))).toEqual(one.wh);
  const events = await rowsOf(
    shard(),
    `SELECT kind FROM energy_event JOIN series USING (series_id) WHERE device = '${deviceOfCase(one)}' ORDER BY kind`,
  );
  expect(events.map(({ kind }) => kind)).toEqual(one.kinds);
});

test('a daily register alone in its warehouse has breaks beyond its limit after a restart', async () => {
  // It counts 1 kW. The learnt limit is 50 kW, and 4 x 1024 W after a restart. So the way back from 210 to
  // 10750 is a break, although 42 kW are below the limit.
  const alone = await openTestShard();
  const readings = quarters('01', 96, (place) => (place === 40 ? 200 : place === 41 ? 210 : place * 250));
  await landReadings(alone, readings);
  await rollUpSite(alone, siteOf({ method: 'daily_energy' }));
  expect(await rowsOf(alone, 'SELECT kind FROM energy_event')).toEqual([{ kind: 'glitch' }]);
  expect(await energyByDay(alone)).toEqual({ '2024-06-01': 95 * 250 });
});

/**
 * Two devices whose settings change. The limits of `t` are configured for a time, and the jitter of `j` at
 * first.
 */
const learntAgain = shared(async () => {
  const opened = await openTestShard();
  const siteWith = (limits: Partial<EnergyStreamInput>, jitter: Partial<EnergyStreamInput>): EnergySite => ({
    timezone: 'Etc/UTC',
    streams: [limits, { ...jitter, table: 'j' }].flatMap((stream) => siteOf(stream).streams),
  });
  const [limits, jitter] = [{ maxPower: '10 kW', jitter: '1 Wh' }, { jitter: '1 Wh' }];
  const dayOfGrowth = quarters('01', 96, (place) => place * 250);
  await landReadings(opened, dayOfGrowth);
  await landReadings(
    opened,
    dayOfGrowth.map((reading) => ({ ...reading, device: deviceOf(2) })),
    'j',
  );
  await rollUpSite(opened, siteWith({}, jitter));
  await rollUpSite(opened, siteWith(limits, jitter));
  // On this day nothing is learnt. At noon the register jumps by 100 kWh.
  await landReadings(
    opened,
    quarters('02', 96, (place) => (place + 96) * 250 + (place >= 48 ? 100_000 : 0)),
  );
  await rollUpSite(opened, siteWith(limits, jitter));
  const configured = await resolutionsOf(opened);
  await rollUpSite(opened, siteWith({}, {}));
  return { energy: await energyByDay(opened, DEVICE), configured, learnt: await resolutionsOf(opened) };
});
const resolutionsOf = (of: Shard) =>
  rowsOf(
    of,
    `SELECT DISTINCT learnt_resolution FROM series_day JOIN series USING (series_id) WHERE device = '${deviceOf(2)}'`,
  );

test('limits are learnt again from all readings after they were configured for a time', () => {
  // The jump is beyond the learnt limit of 50 kW: 94 of the 95 quarters of the second day count.
  expect(learntAgain().energy).toEqual({ '2024-06-01': 24_000, '2024-06-02': 94 * 250 });
});

test('the resolution is learnt from all readings if the jitter is configured no longer', () => {
  expect(learntAgain().configured).toEqual([{ learnt_resolution: null }]);
  expect(learntAgain().learnt).toEqual([{ learnt_resolution: 10 }]);
});

const breaksOf = async (one: ReachingCase) => {
  const breaks = await rowsOf(
    shard(),
    `SELECT to_value FROM series_break JOIN series USING (series_id) WHERE device = '${deviceOfCase(one)}' ORDER BY to_ms`,
  );
  return breaks.map(({ to_value }) => to_value);
};

test('a rise is a break if it is more than the limit and the jitter allow', async () => {
  const [allowed, higher] = rises;
  expect(await breaksOf(allowed!)).toHaveLength(0);
  expect(await breaksOf(higher!)).toHaveLength(1);
});

test('a late reading keeps the break of the second pair up from zero before it', async () => {
  expect(await breaksOf(upFromZero)).toEqual([0, 500, 1_000]);
});

test('a late high reading changes what the second reading after it shows', async () => {
  // The way back to 1500 is no growth: 100 Wh in half an hour.
  const atTen = `SELECT power_w FROM series_quarter JOIN series USING (series_id)
    WHERE device = '${deviceOfCase(high)}' AND interval_start_ms = ${Date.parse('2024-06-02T10:00:00Z')}`;
  expect(await rowsOf(shard(), atTen)).toEqual([{ power_w: 200 }]);
});

test('a break that is judged again is stored once', async () => {
  const twice = 'SELECT series_id, to_ms FROM series_break GROUP BY ALL HAVING count(*) > 1';
  expect(await rowsOf(shard(), twice)).toEqual([]);
});
