// @module-tag slow
import { expect, test } from 'vitest';
import { isSoak } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import {
  type CaseReading,
  type EnergySite,
  energyByDay,
  energyRows,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [{ table: 't', field: 'today', method: 'daily_energy', maxPower: '20 kW', jitter: '1 Wh' }],
};
const at = (time: string, today: number): CaseReading => ({
  event_time: `2026-06-${time}:00+02:00`,
  data: { today },
});

/** The register restarts at 02:00: its value at 00:30 continues from 23:00, with 90 Wh in 90 min. */
const late = [
  at('01T08:00', 0),
  at('01T23:00', 8000),
  at('02T00:30', 8090),
  at('02T01:00', 8100),
  at('02T01:30', 8100),
  at('02T02:00', 0),
  at('02T20:00', 6000),
];

/** Each reading alone in the soak, otherwise all at once. */
const inParts = (readings: readonly CaseReading[]) =>
  isSoak ? readings.map((reading) => [reading]) : [readings];

async function rolledUpEach(batches: ReadonlyArray<readonly CaseReading[]>) {
  const shard = await openTestShard();
  for (const readings of batches) {
    await landReadings(shard, readings);
    await rollUpSite(shard, site);
  }
  return shard;
}

test('a restart later on a day shows that the register continued the evening before', async () => {
  const oneByOne = await rolledUpEach([late.slice(0, 2), ...inParts(late.slice(2, 5))]);
  // Until then, it can have restarted at midnight: 16 kW for half an hour.
  expect(await energyByDay(oneByOne)).toEqual({ '2026-06-01': 8000, '2026-06-02': 8100 });
  for (const readings of inParts(late.slice(5))) {
    await landReadings(oneByOne, readings);
    await rollUpSite(oneByOne, site);
  }
  expect(await energyByDay(oneByOne)).toEqual({ '2026-06-01': 8060, '2026-06-02': 6040 });
  const atOnce = await rolledUpEach([late]);
  expect(await energyRows(oneByOne)).toEqual(await energyRows(atOnce));
});

// The first test has the restart, and rollup-properties.test.ts has revisions.
test.runIf(isSoak)('a restart that is revised away no longer changes the evening before', async () => {
  const revised = { ...at('02T02:00', 8100), msg_id: 2 };
  const goesOn = at('02T20:00', 9000);
  const later = await rolledUpEach([late.slice(0, 6), [revised], [goesOn]]);
  expect(await energyByDay(later)).toEqual({ '2026-06-01': 8000, '2026-06-02': 9000 });
  const atOnce = await rolledUpEach([[...late.slice(0, 5), revised, goesOn]]);
  expect(await energyRows(later)).toEqual(await energyRows(atOnce));
});

// rollup-properties.test.ts compares late readings with readings in time.
test.runIf(isSoak)(
  'a late reading of the day before keeps the effect of a later restart on its evening',
  async () => {
    const noon = [at('01T10:00', 1000), at('01T11:00', 1500), at('01T12:00', 2000), at('01T13:00', 2500)];
    const later = await rolledUpEach([[...late, ...noon.slice(1)], noon.slice(0, 1)]);
    expect(await energyByDay(later)).toEqual({ '2026-06-01': 8060, '2026-06-02': 6040 });
    expect(await energyRows(later)).toEqual(await energyRows(await rolledUpEach([[...noon, ...late]])));
  },
);
