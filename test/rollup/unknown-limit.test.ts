// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';
import { rounds } from '../support/rounds.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type Check, deviceOf, expectAll, messagesOf, type RandomStream, rolledUp } from './many-streams.ts';
import type { EnergySite } from './rollup-fixture.ts';

const START_MS = Date.UTC(2026, 5, 1);
const DAYS = 3;

const plant = fc.record({
  /** The minute when the first day begins. A day of few readings must not learn a limit from its faults. */
  startMinutes: fc.integer({ min: 0, max: 24 * 60 - 40 }),
  everyMinutes: fc.constantFrom(5, 10, 15),
  watts: fc.constantFrom(300, 2_000, 10_000),
  /** Hours of the day when it grows. */
  hours: fc.constantFrom(6, 12, 24),
  first: fc.integer({ min: 200_000, max: 50_000_000 }),
  faultPercent: fc.integer({ min: 0, max: 10 }),
  /** This number of readings of a thousand starts again from zero. */
  restartsPerMille: fc.constantFrom(0, 0, 4),
  /** It decides which readings are faults, and the kind of each fault. */
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
});
type Plant = typeof plant extends fc.Arbitrary<infer Value> ? Value : never;
interface FaultyStream extends RandomStream {
  /** Wh by day. */
  days: Map<string, number>;
  /** The days when it started again. */
  restarted: ReadonlySet<string>;
  /**
   * Wh that grow while it shows the same value four times. Around midnight they can be booked on the wrong
   * day.
   */
  frozenWh: number;
}

/** Numbers from 0 to 1, always the same for a seed. */
function* randoms(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state / 2_147_483_647;
  }
}

function dayOf(atMs: UtcMs): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function grownWh({ watts, hours }: Plant, atMs: UtcMs): number {
  const [day, ms] = [Math.floor((atMs - START_MS) / DAY_MS), (atMs - START_MS) % DAY_MS];
  const [fromMs, toMs] = [DAY_MS / 2 - (hours / 2) * HOUR_MS, DAY_MS / 2 + (hours / 2) * HOUR_MS];
  const grownMs = Math.min(Math.max(ms, fromMs), toMs) - fromMs;
  return Math.round((watts * (day * hours * HOUR_MS + grownMs)) / HOUR_MS);
}

function faultyStream(one: Plant): FaultyStream {
  const random = randoms(one.seed);
  const draw = () => random.next().value;
  const readings: RandomStream['readings'] = [];
  const firstMs = START_MS + one.startMinutes * MINUTE_MS;
  const endMs = START_MS + DAYS * DAY_MS;
  const restarted = new Set<string>();
  let [zeroWh, shown, frozen] = [-one.first, one.first, 0];
  for (let atMs = firstMs; atMs <= endMs; atMs += one.everyMinutes * MINUTE_MS) {
    const isEnd = atMs === firstMs || atMs + one.everyMinutes * MINUTE_MS > endMs;
    if (!isEnd && draw() * 1_000 < one.restartsPerMille) {
      zeroWh = grownWh(one, atMs);
      restarted.add(dayOf(atMs));
    }
    const value = grownWh(one, atMs) - zeroWh;
    const isFault = !isEnd && draw() * 100 < one.faultPercent;
    const kind = Math.floor(draw() * 7);
    const wrong = [0, value * 5 + 1e8, Math.round(value / 2), Math.round(value * draw()), 'NaN'][kind];
    frozen = isFault && kind === 5 ? 1 + Math.floor(draw() * 4) : isEnd ? 0 : frozen - 1;
    if (frozen <= 0) shown = value;
    const isLost = isFault && kind === 6;
    const reading = { atMs, part: 0, lateMs: 0, data: { value: isFault ? (wrong ?? shown) : shown } };
    if (!isLost) readings.push(reading, ...(draw() < 0.05 ? [reading] : []));
  }
  const days = Array.from({ length: DAYS }, (_, day): [string, number] => {
    const fromMs = Math.max(firstMs, START_MS + day * DAY_MS);
    const toMs = Math.min(readings.at(-1)!.atMs, START_MS + (day + 1) * DAY_MS);
    return [dayOf(START_MS + day * DAY_MS), grownWh(one, toMs) - grownWh(one, fromMs)];
  });
  const frozenWh = (one.watts * 5 * one.everyMinutes) / 60;
  return { table: 't', readings, days: new Map(days), restarted, frozenWh };
}

test('a register without a known limit and with up to a tenth of wrong readings is right, or flagged as reset', {
  timeout: 600_000,
}, async () => {
  const site: EnergySite = {
    timezone: 'Etc/UTC',
    streams: [{ table: 't', field: 'value', method: 'total_energy' }],
  };
  let [days, doubtful] = [0, 0];
  const check: Check<FaultyStream> = async (streams) => {
    const shard = await rolledUp(site, [messagesOf(streams)]);
    const rows = await rowsOf(
      shard,
      `SELECT d.device::VARCHAR AS device, day::VARCHAR AS day, energy_wh::DOUBLE AS wh, coalesce(learnt_power_w, 'infinity'::DOUBLE) AS limit_w,
         flags & (SELECT bit_or(bit) FROM quality_flag WHERE flag IN ('reset', 'rebase')) > 0 AS doubtful,
         flags & 1 > 0 AS estimated
       FROM daily_energy d JOIN series USING (device)
       LEFT JOIN series_day l ON l.series_id = series.series_id AND l.utc_day = d.day - '1970-01-01'::DATE`,
    );
    await shard.close();
    const found = new Map(rows.map((row) => [`${row.device} ${row.day}`, row]));
    return streams.map((stream, index) =>
      [...stream.days]
        .map(([day, wh]) => {
          const row = found.get(`${deviceOf(index)} ${day}`);
          const got = Number(row?.wh ?? 0);
          const isRestart = stream.restarted.has(day);
          if (!isRestart) days += 1;
          if (row?.doubtful && !isRestart) doubtful += 1;
          // Also a wrong day has no more energy than its limit allows.
          if (got > Number(row?.limit_w ?? 0) * 24) return `${day}: ${got} Wh are more than its limit`;
          const isRight = Math.abs(got - wh) <= 10 + stream.frozenWh;
          return isRight || row?.doubtful || row?.estimated
            ? ''
            : `${day}: ${got} Wh, expected ${wh}, and nothing says so`;
        })
        .filter(Boolean)
        .join('\n'),
    );
  };
  await expectAll(site, plant.map(faultyStream), check, rounds(40, 250));
  // A low value can look like a restart, but rarely. Otherwise the flag would have no meaning.
  expect(doubtful / days).toBeLessThan(0.05);
});
