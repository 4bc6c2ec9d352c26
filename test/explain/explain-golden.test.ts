// @module-tag slow
import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { type Explained, explainedSchema } from '../../src/explain/explained-schema.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { caseOf, goldenCases, ownReadings, siteOf } from '../rollup/golden.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { handSum, stepSum } from './by-hand.ts';

/**
 * A few cases of one zone at a time, because each case has its own energy streams, and their number in a
 * workgroup is limited.
 */
const SITE_CASES_MAX = 40;
/** One of this many days is explained, so that the test stays short. */
const DAYS_STEP = rounds(80, 5);

const sites = [...Map.groupBy(goldenCases(), ({ timezone }) => timezone)].flatMap(([timezone, cases]) =>
  Array.from({ length: Math.ceil(cases.length / SITE_CASES_MAX) }, (_, index) => {
    const own = cases.slice(index * SITE_CASES_MAX, (index + 1) * SITE_CASES_MAX);
    return [timezone, own[0]!.id, own] as const;
  }),
);
const methods = new Set<string>();

// Cases of this zone have every method.
const chosenSites = isSoak ? sites : sites.filter(([timezone]) => timezone === 'Europe/Paris');

describe.each(chosenSites)('the golden cases of %s from %s on', (timezone, _first, cases) => {
  test('can be computed again by hand from the explanation of their days', async () => {
    const shard = await openTestShard();
    await landReadings(shard, cases.flatMap(ownReadings));
    await rollUpSite(shard, siteOf(cases));
    const days = await rowsOf(
      shard,
      'SELECT device::VARCHAR AS device, source, day::VARCHAR AS day, energy_wh::DOUBLE AS wh, method FROM daily_energy ORDER BY ALL',
    );
    expect(days.length).toBeGreaterThan(0);
    // Of each method the first, and some more.
    const chosen = [...Map.groupBy(days, ({ method }) => method).values()].flatMap((those) =>
      those.filter((_, index) => index % DAYS_STEP === 0),
    );
    const [workgroup] = configSchema.parse({ workgroups: [{ id: 'acme', timezone }] }).workgroups;
    const connection = await shard.connect();
    try {
      for (const { device, source, day, wh, method } of chosen) {
        const explained = await explainDay(
          connection,
          { device: String(device), day: String(day), source: String(source) },
          { workgroup: workgroup!, nowMs: Date.UTC(2030, 0, 1), closeAfterMs: 2 * DAY_MS },
        );
        // The person has only what goes over the wire.
        const answer: Explained = explainedSchema.parse(JSON.parse(JSON.stringify(explained)));
        const [one] = answer.sources;
        const about = `${caseOf(device)} on ${day}`;
        expect([about, one?.result?.energyWh, one?.result?.method, answer.outcome]).toEqual([
          about,
          wh,
          method,
          'explained',
        ]);
        expect([about, handSum(one!)]).toEqual([about, wh]);
        expect([about, one!.sum.energyWh, one!.sum.agrees]).toEqual([about, wh, true]);
        expect([about, Math.abs(stepSum(answer, one!) - Number(wh)) <= 1 + one!.segments.length]).toEqual([
          about,
          true,
        ]);
        for (const flag of one!.flags) expect([about, flag.flag, flag.reason]).not.toContain('');
        methods.add(String(method));
      }
    } finally {
      connection.closeSync();
    }
  });
});

test('every method was among them', () => {
  expect([...methods].sort()).toEqual(['daily_energy', 'interval_energy', 'power_curve', 'total_energy']);
});
