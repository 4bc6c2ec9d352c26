// @module-tag slow
import fc from 'fast-check';
import { test } from 'vitest';
import { type EnergyStreamInput, energyStreamSchema } from '../../src/config/energy-stream.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { rounds, sampled } from '../support/rounds.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';
import {
  CLEAR_JITTER_WH,
  CLEAR_MODULUS_WH,
  CLEAR_POWER_W,
  clearDailyRegister,
  clearRegister,
  clearSamples,
} from './clear-streams.ts';
import { type Check, deviceOf, expectAll, messagesOf, type RandomStream, rolledUp } from './many-streams.ts';
import { type OracleReading, type OracleRule, oracleDays } from './oracle.ts';

/**
 * Rules of a table, as the configuration and as the oracle have them, and streams that they give one answer
 * to.
 */
interface Clear {
  stream: EnergyStreamInput;
  rule?: Partial<OracleRule>;
  /** Wh or W that one of the field's unit is. */
  factor?: number;
  streams: (table: string, startMs: number, timezone: string) => fc.Arbitrary<RandomStream>;
}
type Rules = Omit<EnergyStreamInput, 'table'>;

const limits = { maxPower: CLEAR_POWER_W, jitter: CLEAR_JITTER_WH };
const register = (
  rules: Partial<Rules>,
  more: Omit<Clear, 'stream' | 'streams'> & {
    shape?: 'modulus' | 'clean';
    show?: (wh: number) => Record<string, number>;
  } = {},
): Clear => {
  const { shape, show = (value: number) => ({ value }), ...rest } = more;
  return {
    stream: { table: '', field: 'value', method: 'total_energy', ...limits, ...rules },
    ...rest,
    streams: (table, startMs) => clearRegister(table, startMs, show, shape),
  };
};
const samples = (
  rules: Rules,
  rule: Partial<OracleRule>,
  stepMs: number,
  more: { isRegular?: boolean; isPositive?: boolean } = {},
): Clear => ({
  stream: { table: '', ...rules },
  rule: { maxPowerW: 10e6, ...rule },
  streams: (table, startMs) => clearSamples(table, startMs, stepMs, more),
});

const power = { field: 'value', method: 'power_curve', maxPower: '10 MW' } as const;
const clear: Record<string, Clear[]> = {
  total_energy: [
    register({}),
    register({ modulus: CLEAR_MODULUS_WH }, { shape: 'modulus', rule: { modulusWh: CLEAR_MODULUS_WH } }),
    register({ boundary: 'within_day' }, { shape: 'clean', rule: { withinDay: true } }),
    register(
      { unit: 'kWh', multiplier: 0.5, maxPower: '4 MW', jitter: '1.5 kWh' },
      { factor: 500, rule: { maxPowerW: 4e6, jitterWh: 1500 } },
    ),
    {
      stream: { table: '', field: 'value', method: 'total_energy', register: 'net' },
      rule: { net: true },
      streams: (table, startMs) => clearSamples(table, startMs, 10 * MINUTE_MS),
    },
  ],
  daily_energy: [
    { stream: { table: '', field: 'today', method: 'daily_energy', ...limits }, streams: clearDailyRegister },
  ],
  power_curve: [
    samples({ ...power, maxGap: '15m' }, { maxGapMs: 15 * MINUTE_MS }, 5 * MINUTE_MS, { isRegular: false }),
    samples(
      { ...power, maxGap: '1h', direction: 'positive' },
      { maxGapMs: HOUR_MS, direction: 'positive' },
      7 * MINUTE_MS,
    ),
    samples(
      { ...power, maxGap: '1h', direction: 'negative', unit: 'kW' },
      { maxGapMs: HOUR_MS, direction: 'negative' },
      20 * MINUTE_MS,
    ),
    samples(
      { ...power, sampling: 'on_change', direction: 'negative' },
      { sampling: 'on_change', direction: 'negative' },
      10 * MINUTE_MS,
      { isRegular: false },
    ),
    samples(
      { ...power, sampling: 'interval_average', interval: '10m' },
      { sampling: 'interval_average', intervalMs: 10 * MINUTE_MS },
      10 * MINUTE_MS,
    ),
    samples(
      { ...power, sampling: 'interval_average', interval: '1h', label: 'end', direction: 'positive' },
      { sampling: 'interval_average', intervalMs: HOUR_MS, labelEnd: true, direction: 'positive' },
      HOUR_MS,
    ),
  ],
  interval_energy: [
    samples(
      { field: 'value', method: 'interval_energy', maxPower: '10 MW', interval: '30m' },
      { intervalMs: 30 * MINUTE_MS },
      30 * MINUTE_MS,
    ),
    samples(
      {
        field: 'value',
        method: 'interval_energy',
        maxPower: '10 MW',
        interval: '1h',
        label: 'end',
        unit: 'kWh',
      },
      { intervalMs: HOUR_MS, labelEnd: true },
      HOUR_MS,
    ),
    samples(
      {
        field: 'value',
        method: 'interval_energy',
        maxPower: '10 MW',
        interval: '5m',
        multiplier: 2,
        direction: 'positive',
      },
      { intervalMs: 5 * MINUTE_MS, direction: 'positive' },
      5 * MINUTE_MS,
    ),
  ],
};

/** Places and times with unusual days. */
const nights = [
  ['America/Havana', Date.UTC(2023, 10, 3)],
  ['Australia/Lord_Howe', Date.UTC(2024, 3, 4)],
] as const;

const factors: Record<string, number> = { Wh: 1, W: 1, kWh: 1000, kW: 1000 };

/** The valid readings: of several of one instant the one with the highest revision, then the last. */
function validOf(one: Clear, { readings }: RandomStream): OracleReading[] {
  const { method, field, unit = 'Wh', multiplier = 1, register: kind } = one.stream;
  const chosen = new Map<number, { value: number; revision: number }>();
  for (const { atMs, revision = -1, data } of readings) {
    const raw = data[field];
    const number = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
    if (typeof number !== 'number' || Number.isNaN(number)) continue;
    if (number < 0 && kind !== 'net' && (method === 'total_energy' || method === 'daily_energy')) continue;
    if (revision >= (chosen.get(atMs)?.revision ?? -1))
      chosen.set(atMs, { value: number * factors[unit]! * multiplier, revision });
  }
  return [...chosen].map(([atMs, { value }]) => ({ atMs, value })).sort((a, b) => a.atMs - b.atMs);
}

test.each(sampled(nights, 2))(
  'energy of every method is in %s what the rules say, worked out without the roll-up',
  { timeout: 600_000 },
  async (timezone, startMs) => {
    const named = Object.values(clear)
      .flat()
      .map((one, index) => ({ ...one, stream: { ...one.stream, table: `t${index}` } }));
    const site = { timezone, streams: named.map(({ stream }) => stream) };
    const check: Check = async (streams) => {
      const shard = await rolledUp(site, [messagesOf(streams)]);
      const rows = await rowsOf(
        shard,
        'SELECT device::VARCHAR AS device, day::VARCHAR AS day, energy_wh::DOUBLE AS wh, coverage FROM daily_energy',
      );
      await shard.close();
      const byDevice = Map.groupBy(rows, ({ device }) => device);
      return streams.map((stream, index) => {
        const one = named.find(({ stream: { table } }) => table === stream.table)!;
        const { method } = energyStreamSchema.parse(one.stream);
        const rule: OracleRule = {
          method,
          maxPowerW: CLEAR_POWER_W,
          jitterWh: CLEAR_JITTER_WH,
          intervalMs: 0,
          maxGapMs: HOUR_MS,
          ...one.rule,
        };
        const wanted = oracleDays(rule, validOf(one, stream), timezone);
        const found = new Map(
          (byDevice.get(deviceOf(index)) ?? []).map(({ day, wh, coverage }) => [
            day as string,
            { wh: wh as number, coverage: coverage as number },
          ]),
        );
        const days = [...new Set([...wanted.keys(), ...found.keys()])].sort();
        return days
          .filter((day) => {
            const [want, have] = [wanted.get(day), found.get(day)];
            return (
              !want ||
              !have ||
              Math.abs(want.wh - have.wh) > 0.500001 ||
              Math.abs(want.coverage - have.coverage) > 0.000051
            );
          })
          .map(
            (day) =>
              `${day}: ${JSON.stringify(wanted.get(day))} by the rules, ${JSON.stringify(found.get(day))} by the roll-up`,
          )
          .join('\n');
      });
    };
    const each = fc.oneof(...named.map((one) => one.streams(one.stream.table, startMs, timezone)));
    await expectAll(site, each, check, rounds(160, 2_000));
  },
);
