import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

const site = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', unit: 'Wh' }],
} as const;
const START_MS = Date.UTC(2026, 5, 1);
const STEP_MS = HOUR_MS / 4;
const STEPS_A_DAY = 96;

/** What happens to the register on a day, at a quarter of an hour. */
const faultArbitrary = fc.record({
  kind: fc.constantFrom('none', 'jump', 'restart', 'zeros', 'spike', 'silence', 'standstill'),
  step: fc.integer({ min: 4, max: 80 }),
});

/** A register that counts 250 Wh a quarter of an hour, alone in its warehouse. */
function readingsOf(faults: ReadonlyArray<{ kind: string; step: number }>): CaseReading[][] {
  let total = 1_000_000;
  return faults.map(({ kind, step }, day) => {
    const readings: CaseReading[] = [];
    for (let at = 0; at < STEPS_A_DAY; at += 1) {
      total += 250;
      if (at === step && kind === 'jump') total += 500_000;
      if (at === step && kind === 'restart') total = 0;
      const isWithin = at >= step && at < step + 12;
      if (isWithin && kind === 'silence') continue;
      const shown = isWithin && kind === 'zeros' ? 0 : at === step && kind === 'spike' ? 2 * total : total;
      const still = isWithin && kind === 'standstill' ? total - 250 * (at - step) : shown;
      const atMs = START_MS + (day * STEPS_A_DAY + at) * STEP_MS;
      readings.push({ event_time: new Date(atMs).toISOString(), data: { total: still } });
    }
    return readings;
  });
}

test('a register alone in its warehouse has the same energy if it is rolled up day by day or at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(faultArbitrary, { minLength: 3, maxLength: 7 }), async (faults) => {
      const days = readingsOf(faults);
      const nowMs = START_MS + 30 * STEPS_A_DAY * STEP_MS;
      const [byDay, atOnce] = [await openTestShard(), await openTestShard()];
      for (const readings of days) {
        // The first readings of a day come by themselves: with them its limits are learnt.
        for (const part of [readings.slice(0, 3), readings.slice(3)]) {
          await landReadings(byDay, part);
          await rollUpSite(byDay, site, nowMs);
        }
      }
      await landReadings(atOnce, days.flat());
      await rollUpSite(atOnce, site, nowMs);
      expect(await energyRows(byDay)).toEqual(await energyRows(atOnce));
      await byDay.close();
      await atOnce.close();
    }),
    {
      numRuns: rounds(1, 12),
      endOnFailure: !isSoak,
      examples: [
        [
          [
            { kind: 'none', step: 4 },
            { kind: 'jump', step: 40 },
            { kind: 'none', step: 4 },
          ],
        ],
      ],
    },
  );
}, 300_000);
