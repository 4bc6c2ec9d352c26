// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, INTERVAL_MS } from '../../src/lib/time.ts';
import { type CaseReading, type EnergySite, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { type CaseCorrection, correct, NOW_MS, stateOf } from './correction-fixture.ts';

const START_MS = Date.UTC(2026, 2, 27, 20);
const SPAN_MS = 4 * DAY_MS;
const BATCHES = rounds(2, 3);
/** Streams without configured limits, so that a test sees if an excluded reading changes a learnt limit. */
const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 't', field: 'total', method: 'total_energy', unit: 'Wh' },
    { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh' },
    { table: 't', field: 'power', method: 'power_curve', unit: 'W' },
  ],
};
const instant = (ms: number) => new Date(ms).toISOString();

/** Readings that grow, with faults among them, some minutes apart; `early` ones come first. */
const anyReadings = fc
  .array(
    fc.record({
      stepMs: fc.integer({ min: 60_000, max: 2 * HOUR_MS }),
      powerW: fc.integer({ min: 0, max: 5_000 }),
      fault: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 1e6, -1),
      has: fc.integer({ min: 1, max: 7 }),
      batch: fc.integer({ min: 0, max: BATCHES - 1 }),
      again: fc.boolean(),
    }),
    { minLength: 40, maxLength: 90 },
  )
  .map((steps) => {
    let atMs = START_MS;
    let total = 50_000;
    return steps.map(({ stepMs, powerW, fault, has, batch, again }) => {
      atMs += stepMs;
      total += Math.round((powerW * stepMs) / HOUR_MS);
      const shown = fault === 0 ? total : fault === -1 ? 0 : total * fault;
      const data = {
        ...(has & 1 && { total: shown }),
        ...(has & 2 && { today: (total - 50_000) % 20_000 }),
        ...(has & 4 && { power: fault > 1 ? powerW * 1_000 : powerW }),
      };
      return { reading: { event_time: instant(atMs), data } satisfies CaseReading, batch, again };
    });
  });

const anyStretch = (stepMs: number, lengthMax: number) =>
  fc
    .tuple(fc.integer({ min: 0, max: SPAN_MS / stepMs }), fc.integer({ min: 1, max: lengthMax }))
    .map(([from, length]) => ({
      from: instant(START_MS + from * stepMs),
      to: instant(START_MS + (from + length) * stepMs),
    }));
const anyExclusion = fc
  .tuple(anyStretch(60_000, 2_000), fc.constantFrom(undefined, 'total', 'today', 'power'))
  .map(([stretch, field]): CaseCorrection => ({ kind: 'exclude', ...stretch, ...(field && { field }) }));
const anySet = fc
  .tuple(anyStretch(INTERVAL_MS, 60), fc.integer({ min: 0, max: 100_000 }))
  .map(([stretch, energyWh]): CaseCorrection => ({ kind: 'set', ...stretch, energyWh }));
const anyDay = fc
  .tuple(fc.constantFrom('2026-03-28', '2026-03-29', '2026-03-30'), fc.integer({ min: 0, max: 100_000 }))
  .map(([day, energyWh]): CaseCorrection => ({ kind: 'set_day', day, energyWh }));

/** Stores a correction. A correction that overlaps another one is always refused. */
async function tryCorrect(shard: Parameters<typeof correct>[0], correction: CaseCorrection) {
  try {
    return (await correct(shard, correction)).correction.id;
  } catch (error) {
    expect(String(error)).toMatch(/already/);
    return undefined;
  }
}

test('the order of corrections and data does not matter, and an undone correction has no effect', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      anyReadings,
      fc.array(fc.oneof(anyExclusion, anySet, anyDay), { minLength: 1, maxLength: rounds(2, 4) }),
      async (steps, corrections) => {
        // The first reading of each field names the source, without which nothing can be corrected.
        const first: CaseReading = {
          event_time: instant(START_MS - HOUR_MS),
          data: { total: 49_000, today: 0, power: 0 },
        };
        const all = steps.map(({ reading }) => reading);

        const plain = await openTestShard();
        await landReadings(plain, [first, ...all]);
        await rollUpSite(plain, site, NOW_MS);
        const uncorrected = comparable(await stateOf(plain));
        const ids: number[] = [];
        for (const correction of corrections) {
          const id = await tryCorrect(plain, correction);
          if (id !== undefined) ids.push(id);
        }
        const corrected = comparable(await stateOf(plain));

        const mixed = await openTestShard();
        await landReadings(mixed, [first]);
        await rollUpSite(mixed, site, NOW_MS);
        for (let batch = 0; batch < BATCHES; batch += 1) {
          const part = steps.filter((one) => one.batch === batch || (one.again && one.batch < batch));
          if (part.length > 0)
            await landReadings(
              mixed,
              part.map(({ reading }) => reading),
            );
          await rollUpSite(mixed, site, NOW_MS);
          const some = corrections.slice(batch * 2, batch === BATCHES - 1 ? undefined : batch * 2 + 2);
          for (const correction of some) await tryCorrect(mixed, correction);
        }
        await rollUpSite(mixed, site, NOW_MS);
        expect(comparable(await stateOf(mixed))).toEqual(corrected);

        for (const id of ids) await correct(plain, { kind: 'undo', correctionId: id });
        expect(comparable(await stateOf(plain))).toEqual(uncorrected);
        await plain.close();
        await mixed.close();
      },
    ),
    { numRuns: rounds(1, 12), endOnFailure: !isSoak },
  );
});

/** Without `step_ms`, which depends on the order: it grows with what was learnt, and never shrinks. */
function comparable({ series, ...state }: Awaited<ReturnType<typeof stateOf>>) {
  return { ...state, series: series.map(({ step_ms: _, ...one }) => one) };
}

test('the intervals of a corrected day add up to the day, and the intervals of a corrected time to the set energy', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(anyReadings, anySet, async (steps, set) => {
      const shard = await openTestShard();
      await landReadings(shard, [
        { event_time: instant(START_MS - HOUR_MS), data: { total: 49_000 } },
        ...steps.map(({ reading }) => reading),
      ]);
      await rollUpSite(shard, site, NOW_MS);
      await correct(shard, set);
      const state = await stateOf(shard);
      const told = new Map<number, number>();
      const days = new Map(state.days.map(({ day, wh }) => [String(day), Number(wh)]));
      const methods = new Map(state.days.map(({ day, method }) => [String(day), method]));
      const streams = ['total_energy', 'daily_energy', 'power_curve'];
      const day = (ms: number) => new Date(ms).toLocaleDateString('sv', { timeZone: 'Europe/Paris' });
      const sums = new Map<string, number>();
      for (const { stream_id, start_ms, wh } of state.told) {
        const date = day(Number(start_ms));
        if (streams[Number(stream_id) - 1] !== methods.get(date)) continue;
        sums.set(date, (sums.get(date) ?? 0) + Number(wh));
        told.set(Number(start_ms), Number(wh));
      }
      for (const [date, wh] of days) expect([date, sums.get(date) ?? 0]).toEqual([date, wh]);
      let sum = 0;
      for (let at = Date.parse(String(set.from)); at < Date.parse(String(set.to)); at += INTERVAL_MS)
        sum += told.get(at) ?? 0;
      expect(sum).toBe(set.energyWh);
      await shard.close();
    }),
    { numRuns: rounds(1, 8), endOnFailure: !isSoak },
  );
});
