// @module-tag slow
import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { deviceOf } from '../rollup/many-streams.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import {
  correct,
  correctionCases,
  daysOf,
  NOW_MS,
  readingsOf,
  siteOf,
  stateOf,
  toldIntervalsOf,
} from './correction-fixture.ts';

/** Other cases have their arithmetic, too. */
const alsoElsewhere = ['set-interval', 'set-day-on-a-short-day'];
const chosen = correctionCases().filter(({ id }) => isSoak || !alsoElsewhere.includes(id));
/**
 * Cases of one zone share a warehouse, each with its own device, because each roll-up costs a third of a
 * second.
 */
const zones = [...Map.groupBy(chosen, ({ timezone }) => timezone)];

test.each(zones)(
  'corrected cases of %s have the energy of their arithmetic in any order, and undoing them restores the previous state',
  async (_zone, cases) => {
    const shard = await openTestShard();
    const site = siteOf(cases);
    const plants = cases.map((one, index) => ({
      ...one,
      name: `${one.id}: ${one.why}`,
      device: deviceOf(index),
    }));
    await landReadings(
      shard,
      plants.flatMap((one) => readingsOf(one, one.device)),
    );
    await rollUpSite(shard, site, NOW_MS);
    for (const { name, device, source, before } of plants)
      expect((await daysOf(shard, source, device)).wh, name).toEqual(before);
    const before = await stateOf(shard);

    const ids: number[] = [];
    for (const { device, source, corrections } of plants) {
      const options = { device, ...(source !== undefined && { source }) };
      for (const { like, ...rest } of corrections) {
        const correction = { ...rest, ...(like !== undefined && { like: { ...like, device } }) };
        // A dry run says the same and leaves nothing behind. It costs as much as the correction.
        const checked =
          isSoak || ids.length === 0
            ? await dryRunOf(shard, () => correct(shard, correction, { ...options, dryRun: true }))
            : undefined;
        const { outcome, correction: told } = await correct(shard, correction, options);
        expect(outcome).toBe('stored');
        if (checked) expect(told).toEqual(checked.correction);
        ids.push(told.id);
      }
    }
    for (const { name, device, source, expected, flags, intervals } of plants) {
      const days = await daysOf(shard, source, device);
      expect(days.wh, name).toEqual(expected);
      expect(days.flags, name).toMatchObject(flags);
      expect(await toldIntervalsOf(shard, source, device), name).toMatchObject(intervals);
    }
    const corrected = await stateOf(shard);

    // Computing everything again by the same rules changes nothing, and makes no version.
    expect(await rollUpSite(shard, site, NOW_MS)).toMatchObject({ days: 0 });
    await restate(shard);
    expect(await rollUpSite(shard, site, NOW_MS)).toMatchObject({ days: 0 });
    expect(await stateOf(shard)).toEqual(corrected);

    for (const id of ids.toReversed()) await correct(shard, { kind: 'undo', correctionId: id });
    expect(await stateOf(shard)).toEqual(before);
    await expect(correct(shard, { kind: 'undo', correctionId: ids[0]! })).rejects.toThrow(
      /is undone already/,
    );
  },
);

/** What a dry run says. It must leave nothing behind. */
async function dryRunOf<Told>(shard: Shard, run: () => Promise<Told>): Promise<Told> {
  const before = await stateOf(shard);
  const told = await run();
  expect(await stateOf(shard)).toEqual(before);
  return told;
}

/** As if everything had been computed by other rules until now. */
async function restate(shard: Shard): Promise<void> {
  await shard.transaction((connection) => connection.run("UPDATE energy_stream SET settings = '{}'"));
}
