import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { shared } from '../support/shared.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import { type CaseReading, callRollUp, type EnergySite, landReadings } from './rollup-fixture.ts';

// The first call on a connection runs every statement, because it creates their tables. Later calls leave
// out statements without work (`runIf`). Each case is a later call with work for some of these. Together
// the cases have work for all of them.

const START_MS = Date.UTC(2026, 2, 25, 12);
const limits = { maxPower: '10 kW', jitter: '1 Wh' } as const;
const total = { field: 'total', method: 'total_energy', ...limits } as const;
const today = { field: 'today', method: 'daily_energy', ...limits } as const;
const power = { field: 'power', method: 'power_curve', maxGap: '1h' } as const;

/** The device of the case with a register that is replaced. */
const REPLACED = deviceOf(3);

/** The values of one device by hour, since noon. */
type Hours = Readonly<Record<number, Readonly<Record<string, number>>>>;

interface LaterCall {
  streams: ReadonlyArray<Omit<EnergyStreamInput, 'table'>>;
  /** What the first call on the connection computes. */
  before: Hours;
  comes: Hours;
  /** What the later call stores, worked out by hand. */
  hours: readonly string[];
  days: readonly string[];
}

const cases: Record<string, LaterCall> = {
  'a register that falls, after a reading that is left out, has what it grows by from zero': {
    streams: [total],
    before: { 0: { total: 4_000 }, 1: { total: 5_000 } },
    comes: {
      2: { total: 5_400 },
      2.5: { total: 0 },
      3: { total: 6_000 },
      4: { total: 100 },
      5: { total: 300 },
    },
    hours: [
      '25 12:00 1000',
      '25 13:00 400',
      '25 14:00 600 glitch',
      '25 15:00 100 reset',
      '25 16:00 200',
      '25 17:00 0',
    ],
    days: ['2026-03-25 total_energy 2300 reset partial glitch'],
  },
  'a silence of a register has the shape of the power beside it': {
    streams: [total, power],
    before: { 0: { total: 1_000, power: 1_000 }, 1: { total: 2_000, power: 1_000 } },
    comes: {
      2: { power: 1_000 },
      3: { power: 1_000 },
      4: { power: 0 },
      5: { power: 0 },
      6: { total: 5_000, power: 0 },
    },
    hours: [
      '25 12:00 1000',
      '25 13:00 1200 estimated',
      '25 14:00 1200 estimated',
      '25 15:00 600 estimated',
      '25 16:00 0 estimated',
      '25 17:00 0 estimated',
      '25 18:00 0',
    ],
    days: ['2026-03-25 total_energy 4000 partial'],
  },
  'a silence of a register over midnight is divided by the daily register beside it': {
    streams: [total, today],
    before: { 10: { total: 1_000, today: 100 }, 11: { total: 2_000, today: 1_100 } },
    comes: { 14: { total: 2_700, today: 600 } },
    hours: [
      '25 22:00 1000',
      '25 23:00 100 estimated',
      '26 00:00 300 estimated',
      '26 01:00 300 estimated',
      '26 02:00 0',
    ],
    days: ['2026-03-25 daily_energy 1100 partial', '2026-03-26 total_energy 600 estimated partial'],
  },
  'a register that is replaced grows on both sides of the change': {
    streams: [
      {
        ...total,
        registerChanges: [
          {
            device: REPLACED,
            at: new Date(START_MS + 2.5 * HOUR_MS).toISOString(),
            final: 2_300,
            initial: 50,
          },
        ],
      },
    ],
    before: { 0: { total: 1_000 }, 1: { total: 2_000 } },
    comes: { 2: { total: 2_200 }, 3: { total: 150 } },
    hours: ['25 12:00 1000', '25 13:00 200', '25 14:00 200 reset', '25 15:00 0'],
    days: ['2026-03-25 total_energy 1400 reset partial'],
  },
  'a register and power that differ contradict each other': {
    streams: [total, power],
    before: { 0: { total: 1_000, power: 1_000 }, 1: { total: 2_000, power: 1_000 } },
    comes: { 2: { total: 3_500, power: 1_000 }, 3: { total: 5_000, power: 1_000 } },
    hours: ['25 12:00 1000', '25 13:00 1500', '25 14:00 1500', '25 15:00 0'],
    days: ['2026-03-25 total_energy 4000 partial contradicted'],
  },
};

const tableOf = (index: number) => `table_${index}`;
const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: Object.values(cases).flatMap(({ streams }, index) =>
    streams.map((stream): EnergyStreamInput => ({ ...stream, table: tableOf(index) })),
  ),
};

const readings = (index: number, hours: Hours): CaseReading[] =>
  Object.entries(hours).map(([hour, data]) => ({
    event_time: new Date(START_MS + Number(hour) * HOUR_MS).toISOString(),
    table: tableOf(index),
    device: deviceOf(index),
    data,
  }));

/** After its first call. The tests continue with a device each. */
const kept = shared(async () => {
  const shard = await openTestShard();
  await landReadings(
    shard,
    Object.values(cases).flatMap(({ before }, index) => readings(index, before)),
  );
  await callRollUp(shard, site);
  return shard;
});

test.each(Object.entries(cases).map(([name, one], index) => ({ name, index, ...one })))(
  'in a later call, $name',
  async ({ index, comes, hours, days }) => {
    const shard = kept();
    await landReadings(shard, readings(index, comes));
    await callRollUp(shard, site);
    const flags = `(SELECT coalesce(' ' || string_agg(flag, ' ' ORDER BY bit), '') FROM quality_flag WHERE one.flags & bit <> 0)`;
    const linesOf = async (from: string) => {
      const rows = await rowsOf(
        shard,
        `SELECT one.at || ' ' || one.wh || ${flags} AS line FROM (${from}) AS one ORDER BY line`,
      );
      return rows.map(({ line }) => line);
    };
    expect({
      hours: await linesOf(
        `SELECT strftime(date_trunc('hour', make_timestamp(interval_start_ms * 1000)), '%d %H:00') AS at,
           sum(energy_wh)::BIGINT AS wh, bit_or(flags) AS flags
         FROM interval_energy JOIN series USING (series_id) JOIN energy_stream USING (stream_id)
         WHERE device = '${deviceOf(index)}' AND (identity->>'method') = 'total_energy' GROUP BY ALL`,
      ),
      days: await linesOf(
        `SELECT day || ' ' || method AS at, energy_wh AS wh, flags FROM daily_energy WHERE device = '${deviceOf(index)}'`,
      ),
    }).toEqual({ hours, days });
  },
);
