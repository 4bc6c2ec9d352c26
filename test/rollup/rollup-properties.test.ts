import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { DAY_MS, dayBounds, HOUR_MS, localDateOf, type UtcMs } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak, rounds, sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { CLEAR_JITTER_WH, CLEAR_POWER_W, clearRegister } from './clear-streams.ts';
import {
  type Check,
  closeAll,
  deviceOf,
  differences,
  digestsOf,
  expectAll,
  joined,
  messagesOf,
  type RandomStream,
  rolledUp,
  VERSIONS,
} from './many-streams.ts';
import { callRollUp, type EnergySite, landReadings, rollUpSite } from './rollup-fixture.ts';
import { anyStream, everyRule, nightlyStream, PARTS, standingStream } from './streams-arbitrary.ts';

const START_MS = Date.UTC(2026, 2, 26, 20);
const site: EnergySite = { timezone: 'Europe/Paris', streams: everyRule };
/** The site with the rules of these streams alone, because each rule takes its time of a roll-up. */
const siteOf = (streams: readonly RandomStream[]): EnergySite => ({
  ...site,
  streams: everyRule.filter(({ table }) => streams.some((one) => one.table === table)),
});

const inParts = (messages: ReturnType<typeof messagesOf>) =>
  Array.from({ length: PARTS }, (_, part) =>
    messages.filter((one) => one.part === part || one.againPart === part),
  );

/** The high-water marks of registers, which later roll-ups continue from. */
const MARKS = `SELECT device, interval_start_ms, interval_energy.last_ms, last_value FROM interval_energy JOIN series USING (series_id)
  WHERE covered_ms > 0 OR energy_wh <> 0`;
/** The versions, and the breaks and events that were judged. */
const JUDGED = {
  ...VERSIONS,
  event: 'SELECT device, e.* FROM energy_event e JOIN series USING (series_id)',
  break: 'SELECT device, b.* FROM series_break b JOIN series USING (series_id)',
};

test('any order of arrival, repetition, split into batches and number of threads gives the same rows, by a full index and by judging everything too, and again none are changed', {
  timeout: 600_000,
}, async () => {
  const check: Check = async (streams) => {
    const own = siteOf(streams);
    const messages = messagesOf(streams);
    const parts = inParts(messages);
    const whole = await rolledUp(own, [messages], [], 1);
    const split = await rolledUp(own, parts, [], 2);
    const problems = [await differences(streams, whole, split)];
    problems.push(await changesOfAgain(streams, whole));
    // Registers are computed by pairs of readings where they only grow, and judged only until they are as
    // before. Statements without work are left out.
    const every = await rolledUp({ ...own, indexAll: true, runAll: true }, parts);
    problems.push(await differences(streams, every, split, { ...JUDGED, mark: MARKS }));
    await closeAll(whole, split, every);
    return joined(problems);
  };
  const stream = fc.oneof(
    { weight: 5, arbitrary: anyStream(START_MS) },
    { weight: 3, arbitrary: nightlyStream(START_MS) },
    { weight: 2, arbitrary: standingStream(START_MS) },
  );
  await expectAll(site, stream, check, rounds(12, 1_000));
});

/**
 * The changes of rows and versions by rolling up again, and by computing everything again by the same rules.
 */
async function changesOfAgain(streams: readonly RandomStream[], shard: Shard): Promise<string[]> {
  const own = siteOf(streams);
  const before = await digestsOf(shard, VERSIONS);
  expect(await rollUpSite(shard, own)).toMatchObject({ readings: 0, rejected: 0, days: 0 });
  // As if they had been other rules until now.
  await rowsOf(shard, `UPDATE energy_stream SET settings = '{}'`);
  const { days } = await rollUpSite(shard, own);
  const after = await digestsOf(shard, VERSIONS);
  const changed = streams.map((_, index) =>
    [...before.keys(), ...after.keys()].filter(
      (key) => key.endsWith(deviceOf(index)) && before.get(key) !== after.get(key),
    ),
  );
  if (changed.every((keys) => keys.length === 0)) expect(days).toBe(0);
  return changed.map((keys) => keys.join('\n'));
}

test('readings that arrive hours or days late give the same rows as readings in time, and a closed day keeps its limits', {
  tags: ['slow'],
  timeout: 600_000,
}, async () => {
  const rolledUpAtMs = (days: readonly number[]) => days.map((day) => START_MS + day * DAY_MS + HOUR_MS);
  const daily = rolledUpAtMs([...Array.from({ length: rounds(3, 13) }, (_, day) => day + 1), 30]);
  const rarely = rolledUpAtMs([...(isSoak ? [1, 3, 4] : [3]), 30]);
  const came = (
    messages: ReturnType<typeof messagesOf>,
    nowsMs: readonly UtcMs[],
    atMs: (one: (typeof messages)[number]) => UtcMs,
  ) =>
    nowsMs.map((nowMs, index) =>
      messages.filter((one) => atMs(one) <= nowMs && atMs(one) > (nowsMs[index - 1] ?? 0)),
    );
  const check: Check = async (streams) => {
    const own = siteOf(streams);
    const messages = messagesOf(streams);
    const inTime = await rolledUp(
      own,
      came(messages, daily, ({ event_time }) => Date.parse(event_time)),
      daily,
    );
    const late = await rolledUp(
      own,
      came(messages, rarely, ({ comesAtMs }) => comesAtMs),
      rarely,
    );
    const problems = [await differences(streams, inTime, late), await restatedDays(streams, inTime)];
    await closeAll(inTime, late);
    return joined(problems);
  };
  await expectAll(site, anyStream(START_MS), check, rounds(10, 1_000));
});

/** The closed days of each stream that were computed again because limits were learnt. */
async function restatedDays(streams: readonly RandomStream[], shard: Shard): Promise<string[]> {
  const rows = await rowsOf(
    shard,
    `SELECT device::VARCHAR AS device, string_agg(day::VARCHAR, ' ' ORDER BY day) AS days
     FROM daily_energy_history WHERE status = 'restated' AND list_contains(causes, 'learnt') GROUP BY device`,
  );
  const found = new Map(rows.map(({ device, days }) => [device, days as string]));
  return streams.map((_, index) => found.get(deviceOf(index)) ?? '');
}

test('leaving out statements without work gives the same rows as running all', {
  tags: ['slow'],
  timeout: 600_000,
}, async () => {
  // Each stream alone: among many, one always has something to do for each statement.
  const check: Check = async (streams) => {
    const problems: string[] = [];
    for (const stream of streams) {
      const own = siteOf([stream]);
      const parts = inParts(messagesOf([stream]));
      const every = await rolledUp({ ...own, runAll: true }, parts);
      const some = await rolledUp(own, parts);
      problems.push(...(await differences([stream], every, some, VERSIONS)));
      await closeAll(every, some);
    }
    return problems;
  };
  await expectAll(site, fc.oneof(anyStream(START_MS), standingStream(START_MS)), check, rounds(2, 48));
});

// changed-limits.test.ts has more cases.
test.runIf(isSoak)(
  'changed limits give the same rows in many calls as in one call',
  {
    timeout: 600_000,
  },
  async () => {
    const check: Check = async (streams) => {
      const own = siteOf(streams);
      const parts = inParts(messagesOf(streams));
      const atOnce = await rolledUp(own, parts);
      const byCalls = await rolledUp({ ...own, pendingReadingsMax: 1 }, parts);
      const problems = await differences(streams, atOnce, byCalls, VERSIONS);
      await closeAll(atOnce, byCalls);
      return problems;
    };
    await expectAll(site, anyStream(START_MS), check, 60);
  },
);

test('few intervals in each call give the same rows as all in one call, even if new readings come in between', {
  tags: ['slow'],
  timeout: 600_000,
}, async () => {
  const check: Check = async (streams) => {
    const own = siteOf(streams);
    const few = { ...own, intervalsMax: 1, pendingReadingsMax: 1 };
    const parts = inParts(messagesOf(streams));
    const atOnce = await rolledUp(own, parts);
    const byCalls = await rolledUp(few, parts);
    const inBetween = await openTestShard();
    for (const part of parts) {
      if (part.length > 0) await landReadings(inBetween, part);
      await callRollUp(inBetween, few);
    }
    await rollUpSite(inBetween, few);
    const problems = [
      await differences(streams, atOnce, byCalls, VERSIONS),
      await differences(streams, atOnce, inBetween),
    ];
    await closeAll(atOnce, byCalls, inBetween);
    return joined(problems);
  };
  await expectAll(site, anyStream(START_MS), check, rounds(2, 100));
});

const limits = { maxPower: CLEAR_POWER_W, jitter: CLEAR_JITTER_WH };
const register = { field: 'value', method: 'total_energy', ...limits } as const;
const show = (value: number) => ({ value });

/**
 * The energy must be exactly the same: an excursion that is not a reset is left out, and the other readings
 * are the same. It is not a reset if the readings around it fit each other, and those inside it are 0, or the
 * next reading cannot have grown from them at `maxPower`.
 */
test('zeros, low values and spikes between the readings of a register change only flags', {
  tags: ['slow'],
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
    const [wanted, found] = [
      await rolledUp(faulty, [messagesOf(clean)]),
      await rolledUp(faulty, [messagesOf(streams)]),
    ];
    const problems = await differences(streams, wanted, found, {
      day: `SELECT device, day, energy_wh, coverage, ${told} FROM daily_energy`,
      interval: `SELECT device, make_timestamp(interval_start_ms * 1000) AS start, energy_wh, covered_ms, ${told}
        FROM interval_energy JOIN series USING (series_id) WHERE covered_ms > 0 OR energy_wh <> 0`,
    });
    await closeAll(wanted, found);
    return problems;
  };
  const streams = faulty.streams.map(({ table }) => clearRegister(table, START_MS, show, 'clean'));
  await expectAll(faulty, fc.oneof(...streams), check);
});

/** Zones, and times with unusual days: half an hour, a quarter, a missing day, two midnights, no midnight. */
const oddDays = [
  ['Africa/Cairo', '2024-04-23T00:00Z'],
  ['Etc/UTC', '2024-02-27T00:00Z'],
  ['Australia/Lord_Howe', '2024-04-04T00:00Z'],
  ['Asia/Kathmandu', '2024-02-27T00:00Z'],
  ['Pacific/Apia', '2011-12-27T00:00Z'],
  ['America/Havana', '2023-11-03T00:00Z'],
  ['Pacific/Chatham', '2024-04-04T00:00Z'],
] as const;
/** oracle.test.ts has other zones. */
const zones = sampled(oddDays, oddDays.length);

describe.each(zones)('in %s, from %s', { timeout: 600_000 }, (timezone, start) => {
  const startMs = Date.parse(start);
  const quarters: EnergyStreamInput = {
    table: 'quarters',
    ...register,
    multiplier: 0.25,
    maxPower: CLEAR_POWER_W / 4,
    jitter: CLEAR_JITTER_WH / 4,
  };

  test('the days of a register add up to the growth of its rounded index, and the intervals of a day to the day by every method', async () => {
    const every: EnergySite = { timezone, streams: [...everyRule, quarters] };
    const check: Check = async (streams) => {
      const shard = await rolledUp(every, [messagesOf(streams)]);
      const problems = [await growthProblems(shard, streams), await daySumProblems(shard, streams)];
      await shard.close();
      return joined(problems);
    };
    const growthProblems = async (shard: Shard, streams: readonly RandomStream[]) => {
      const rows = await rowsOf(
        shard,
        'SELECT device::VARCHAR AS device, sum(energy_wh)::DOUBLE AS wh FROM daily_energy GROUP BY device',
      );
      const found = new Map(rows.map(({ device, wh }) => [device, wh as number]));
      return streams.map(({ table, readings }, index) => {
        if (table !== quarters.table) return '';
        const values = readings
          .filter(({ isFault }) => !isFault)
          .map(({ data: { value } }) => Number(value) / 4);
        const wanted = Math.round(values.at(-1)!) - Math.round(values[0]!);
        const wh = found.get(deviceOf(index)) ?? 0;
        return wh === wanted ? '' : `${wanted} Wh of growth, ${wh} Wh in its days`;
      });
    };
    const bounds = dayBounds(
      localDateOf(startMs - DAY_MS, timezone),
      localDateOf(startMs + 60 * DAY_MS, timezone),
      timezone,
    );
    const daySumProblems = async (shard: Shard, streams: readonly RandomStream[]) => {
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
      const problems = new Map(rows.map(({ device, problem }) => [device, problem as string]));
      return streams.map((_, index) => problems.get(deviceOf(index)) ?? '');
    };
    const each = fc.oneof(clearRegister(quarters.table, startMs, show, 'clean'), anyStream(startMs));
    await expectAll(every, each, check, rounds(60, 300));
  });
});
