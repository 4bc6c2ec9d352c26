import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, dayBounds, HOUR_MS, localDateOf, type UtcMs } from '../../src/lib/time.ts';
import { isSoak, rounds, sampled } from '../support/rounds.ts';
import { rowsOf } from '../warehouse/support.ts';
import { CLEAR_JITTER_WH, CLEAR_POWER_W, clearRegister } from './clear-streams.ts';
import {
  type Check,
  deviceOf,
  differences,
  digestsOf,
  expectAll,
  messagesOf,
  ROWS,
  rolledUp,
  VERSIONS,
} from './many-streams.ts';
import { anyStream, everyRule, nightlyStream, PARTS } from './streams-arbitrary.ts';
import { type EnergySite, rollUpSite } from './support.ts';

const START_MS = Date.UTC(2026, 2, 26, 20);
const site: EnergySite = { timezone: 'Europe/Paris', streams: everyRule };

test('any order of arrival, any repetition, any split into batches and any number of threads gives the same rows', {
  timeout: 600_000,
}, async () => {
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const wanted = await rolledUp(site, [messages], [], 1);
    const parts = Array.from({ length: PARTS }, (_, part) =>
      messages.filter((one) => one.part === part || one.againPart === part),
    );
    return differences(streams, wanted, await rolledUp(site, parts));
  };
  await expectAll(site, anyStream(START_MS), check);
});

test('readings that arrive hours or days late give the same rows as readings in time', {
  timeout: 600_000,
}, async () => {
  const nowsMs = sampled([20, 44, 68, 96, 30 * 24], 2).map((hours) => START_MS + hours * HOUR_MS);
  const came = (messages: ReturnType<typeof messagesOf>, atMs: (one: (typeof messages)[number]) => UtcMs) =>
    nowsMs.map((nowMs, index) =>
      messages.filter((one) => atMs(one) <= nowMs && atMs(one) > (nowsMs[index - 1] ?? 0)),
    );
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const inTime = await rolledUp(
      site,
      came(messages, ({ event_time }) => Date.parse(event_time)),
      nowsMs,
    );
    const late = await rolledUp(
      site,
      came(messages, ({ comesAtMs }) => comesAtMs),
      nowsMs,
    );
    return differences(streams, inTime, late);
  };
  await expectAll(site, anyStream(START_MS), check);
});

test('a closed day keeps its limits if readings arrive in time', { timeout: 600_000 }, async () => {
  const nowsMs = Array.from({ length: rounds(8, 14) }, (_, day) => START_MS + (day + 1) * DAY_MS + HOUR_MS);
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const parts = nowsMs.map((nowMs) =>
      messages.filter(({ event_time }) => {
        const atMs = Date.parse(event_time);
        return atMs <= nowMs && atMs > nowMs - DAY_MS;
      }),
    );
    const shard = await rolledUp(site, parts, nowsMs);
    const rows = await rowsOf(
      shard,
      `SELECT device::VARCHAR AS device, string_agg(day::VARCHAR, ' ' ORDER BY day) AS days
       FROM daily_energy_history WHERE status = 'restated' AND list_contains(causes, 'learnt') GROUP BY device`,
    );
    await shard.close();
    const found = new Map(rows.map(({ device, days }) => [device, days as string]));
    return streams.map((_, index) => found.get(deviceOf(index)) ?? '');
  };
  await expectAll(site, anyStream(START_MS), check);
});

test('rolling up again, and computing everything again by the same rules, changes no row and makes no version', {
  timeout: 600_000,
}, async () => {
  const check: Check = async (streams) => {
    const shard = await rolledUp(site, [messagesOf(streams)]);
    const before = await digestsOf(shard, VERSIONS);
    expect(await rollUpSite(shard, site)).toMatchObject({ readings: 0, rejected: 0, days: 0 });
    // As if they had been other rules until now.
    await rowsOf(shard, `UPDATE energy_stream SET settings = '{}'`);
    const { days } = await rollUpSite(shard, site);
    const after = await digestsOf(shard, VERSIONS);
    await shard.close();
    const changed = streams.map((_, index) =>
      [...before.keys(), ...after.keys()].filter(
        (key) => key.endsWith(deviceOf(index)) && before.get(key) !== after.get(key),
      ),
    );
    if (changed.every((keys) => keys.length === 0)) expect(days).toBe(0);
    return changed.map((keys) => keys.join('\n'));
  };
  await expectAll(site, anyStream(START_MS), check);
});

test('registers have the same energy by pairs of readings and by a full index', {
  timeout: 600_000,
}, async () => {
  const marks = `SELECT device, interval_start_ms, interval_energy.last_ms, last_value FROM interval_energy JOIN series USING (series_id)
    WHERE covered_ms > 0 OR energy_wh <> 0`;
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const parts = Array.from({ length: PARTS }, (_, part) => messages.filter((one) => one.part === part));
    const indexed = await rolledUp({ ...site, indexAll: true }, parts);
    return differences(streams, indexed, await rolledUp(site, parts), { ...ROWS, mark: marks });
  };
  await expectAll(site, anyStream(START_MS), check);
});

// The next test compares both for the registers of a night, many at once.
test.runIf(isSoak)(
  'leaving out statements without work gives the same rows as running all',
  {
    timeout: 600_000,
  },
  async () => {
    // Each stream alone: among many, one always has something to do for each statement.
    const check: Check = async (streams) => {
      const problems: string[] = [];
      for (const stream of streams) {
        const messages = messagesOf([stream]);
        const parts = Array.from({ length: PARTS }, (_, part) => messages.filter((one) => one.part === part));
        const every = await rolledUp({ ...site, runAll: true }, parts);
        problems.push(...(await differences([stream], every, await rolledUp(site, parts), VERSIONS)));
      }
      return problems;
    };
    await expectAll(site, anyStream(START_MS), check, 48);
  },
);

// moved-limits.test.ts has cases of its own.
test.runIf(isSoak)(
  'moved limits give the same rows in many calls as in one call',
  {
    timeout: 600_000,
  },
  async () => {
    const check: Check = async (streams) => {
      const messages = messagesOf(streams);
      const parts = Array.from({ length: PARTS }, (_, part) => messages.filter((one) => one.part === part));
      const atOnce = await rolledUp(site, parts);
      return differences(streams, atOnce, await rolledUp({ ...site, movedReadingsMax: 1 }, parts), VERSIONS);
    };
    await expectAll(site, anyStream(START_MS), check, 60);
  },
);

test('judging only until a register is as before gives the same rows as judging everything', {
  timeout: 600_000,
}, async () => {
  const judged = {
    ...VERSIONS,
    event: 'SELECT device, e.* FROM energy_event e JOIN series USING (series_id)',
    break: 'SELECT device, b.* FROM series_break b JOIN series USING (series_id)',
  };
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const parts = Array.from({ length: PARTS }, (_, part) => messages.filter((one) => one.part === part));
    const every = await rolledUp({ ...site, runAll: true }, parts);
    return differences(streams, every, await rolledUp(site, parts), judged);
  };
  await expectAll(site, nightlyStream(START_MS), check, rounds(30, 200));
});

const limits = { maxPower: CLEAR_POWER_W, jitter: CLEAR_JITTER_WH };
const register = { field: 'value', method: 'total_energy', ...limits } as const;
const show = (value: number) => ({ value });

/**
 * The tolerance is none: an excursion that the rules tell from a reset is left out, and the readings that are left are the same. They do so
 * where the readings around it fit each other, and those inside it are 0, or cannot be what the next one grew from at `maxPower`.
 */
test('zeros, low values and spikes between the readings of a register change only flags', {
  timeout: 600_000,
}, async () => {
  const faulty: EnergySite = {
    timezone: 'Europe/Paris',
    streams: [
      { table: 'total', ...register },
      { table: 'modulus', ...register, modulus: 1e12 },
      { table: 'within', ...register, boundary: 'within_day' },
    ],
  };
  const check: Check = async (streams) => {
    const clean = streams.map(({ table, readings }) => ({
      table,
      readings: readings.filter(({ isFault }) => !isFault),
    }));
    const told = `flags & ~(SELECT bit_or(bit) FROM quality_flag WHERE flag IN ('glitch', 'spike')) AS flags`;
    return differences(
      streams,
      await rolledUp(faulty, [messagesOf(clean)]),
      await rolledUp(faulty, [messagesOf(streams)]),
      {
        day: `SELECT device, day, energy_wh, coverage, ${told} FROM daily_energy`,
        interval: `SELECT device, make_timestamp(interval_start_ms * 1000) AS start, energy_wh, covered_ms, ${told}
        FROM interval_energy JOIN series USING (series_id) WHERE covered_ms > 0 OR energy_wh <> 0`,
      },
    );
  };
  const streams = faulty.streams.map(({ table }) => clearRegister(table, START_MS, show, 'clean'));
  await expectAll(faulty, fc.oneof(...streams), check);
});

/** Zones, and times at which their days are odd: half an hour, a quarter, no such day, two midnights, none. */
const oddDays = [
  ['Etc/UTC', '2024-02-27T00:00Z'],
  ['Australia/Lord_Howe', '2024-04-04T00:00Z'],
  ['Asia/Kathmandu', '2024-02-27T00:00Z'],
  ['Pacific/Apia', '2011-12-27T00:00Z'],
  ['Africa/Cairo', '2024-04-23T00:00Z'],
  ['America/Havana', '2023-11-03T00:00Z'],
  ['Pacific/Chatham', '2024-04-04T00:00Z'],
] as const;
const EACH = Math.ceil(rounds(140, 1_000) / oddDays.length);

describe.each(sampled(oddDays, 4))('in %s, from %s', { timeout: 600_000 }, (timezone, start) => {
  const startMs = Date.parse(start);

  test('the days of a register add up to the growth of its rounded index', async () => {
    const quarters: EnergySite = {
      timezone,
      streams: [
        {
          table: 't',
          ...register,
          multiplier: 0.25,
          maxPower: CLEAR_POWER_W / 4,
          jitter: CLEAR_JITTER_WH / 4,
        },
      ],
    };
    const check: Check = async (streams) => {
      const shard = await rolledUp(quarters, [messagesOf(streams)]);
      const rows = await rowsOf(
        shard,
        'SELECT device::VARCHAR AS device, sum(energy_wh)::DOUBLE AS wh FROM daily_energy GROUP BY device',
      );
      await shard.close();
      const found = new Map(rows.map(({ device, wh }) => [device, wh as number]));
      return streams.map(({ readings }, index) => {
        const values = readings
          .filter(({ isFault }) => !isFault)
          .map(({ data: { value } }) => Number(value) / 4);
        const wanted = Math.round(values.at(-1)!) - Math.round(values[0]!);
        const wh = found.get(deviceOf(index)) ?? 0;
        return wh === wanted ? '' : `${wanted} Wh of growth, ${wh} Wh in its days`;
      });
    };
    await expectAll(quarters, clearRegister('t', startMs, show, 'clean'), check, EACH);
  });

  test('the intervals of a day add up to the day, by every method', async () => {
    const every: EnergySite = { timezone, streams: everyRule };
    const bounds = dayBounds(
      localDateOf(startMs - DAY_MS, timezone),
      localDateOf(startMs + 60 * DAY_MS, timezone),
      timezone,
    );
    const check: Check = async (streams) => {
      const shard = await rolledUp(every, [messagesOf(streams)]);
      const rows = await rowsOf(
        shard,
        `SELECT device::VARCHAR AS device, string_agg(day || ': ' || d.energy_wh || ' Wh, its intervals ' || i.energy_wh, '\n') AS problem
         FROM daily_energy d
         JOIN (VALUES ${bounds.map((one) => `('${one.day}'::DATE, ${one.startMs}, ${one.endMs})`).join()}) AS b (day, start_ms, end_ms) USING (day)
         JOIN LATERAL (
           SELECT sum(energy_wh) AS energy_wh FROM interval_energy JOIN series s USING (series_id)
           WHERE s.device = d.device AND s.stream_id = d.stream_id AND interval_start_ms >= start_ms AND interval_start_ms < end_ms) AS i ON true
         WHERE i.energy_wh IS DISTINCT FROM d.energy_wh
         GROUP BY device`,
      );
      await shard.close();
      const problems = new Map(rows.map(({ device, problem }) => [device, problem as string]));
      return streams.map((_, index) => problems.get(deviceOf(index)) ?? '');
    };
    await expectAll(every, anyStream(startMs), check, EACH);
  });
});
