import { describe, expect, test } from 'vitest';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak, sampled } from '../support/rounds.ts';
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
const cases = correctionCases().filter(({ id }) => isSoak || !alsoElsewhere.includes(id));
/**
 * A dry run and computing everything again cost as much as all the rest of a case. One of each kind has them,
 * in the soak all cases.
 */
const thorough = new Set(sampled(cases, 10));

describe.each(cases)('$id', (one) => {
  test('has the energy of its arithmetic in any order, and undoing it restores the previous state', async () => {
    const { why, source } = one;
    const shard = await openTestShard();
    await landReadings(shard, readingsOf(one));
    await rollUpSite(shard, siteOf(one), NOW_MS);
    expect((await daysOf(shard, source)).wh, why).toEqual(one.before);
    const before = await stateOf(shard);

    // A dry run says the same and leaves nothing behind.
    const options = source === undefined ? {} : { source };
    const checked = thorough.has(one)
      ? await correct(shard, one.corrections[0]!, { ...options, dryRun: true })
      : undefined;
    if (checked) expect(await stateOf(shard)).toEqual(before);
    const ids: number[] = [];
    for (const correction of one.corrections) {
      const { outcome, correction: told } = await correct(shard, correction, options);
      expect(outcome).toBe('stored');
      ids.push(told.id);
      if (checked && ids.length === 1) expect(told).toEqual(checked.correction);
    }
    const days = await daysOf(shard, source);
    expect(days.wh, why).toEqual(one.expected);
    expect(days.flags, why).toMatchObject(one.flags);
    expect(await toldIntervalsOf(shard, source), why).toMatchObject(one.intervals);
    const corrected = await stateOf(shard);

    // Computing everything again by the same rules changes nothing, and makes no version.
    expect(await rollUpSite(shard, siteOf(one), NOW_MS)).toMatchObject({ days: 0 });
    if (thorough.has(one)) await restate(shard);
    expect(await rollUpSite(shard, siteOf(one), NOW_MS)).toMatchObject({ days: 0 });
    expect(await stateOf(shard)).toEqual(corrected);

    for (const id of ids.reverse()) await correct(shard, { kind: 'undo', correctionId: id });
    expect(await stateOf(shard)).toEqual(before);
    await expect(correct(shard, { kind: 'undo', correctionId: ids[0]! })).rejects.toThrow(
      /is undone already/,
    );
  });
});

/** As if everything had been computed by other rules until now. */
async function restate(shard: Awaited<ReturnType<typeof openTestShard>>): Promise<void> {
  await shard.transaction((connection) => connection.run("UPDATE energy_stream SET settings = '{}'"));
}
