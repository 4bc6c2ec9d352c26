// @module-tag slow
import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, rollUpSite } from './rollup-fixture.ts';

const siteOf = (...fields: string[]): EnergySite => ({
  timezone: 'Etc/UTC',
  streams: fields.map((field) => ({ table: 't', field, method: 'total_energy' as const })),
});

/** The last batch that each call takes in, until none is left. */
async function lastBatches(shard: Shard, site: EnergySite): Promise<number[]> {
  const last: number[] = [];
  for (let more = true; more; ) {
    const result = await rollUpSite(shard, site);
    last.push(Number(result.batchId));
    more = result.more;
  }
  return last;
}

test('a call processes half a million readings if few streams read the messages, and 250,000 messages in any case', async () => {
  const sizes = [
    { site: siteOf('one'), last: [4, 8, 9] },
    { site: siteOf('one', 'two'), last: [2, 4, 6, 8, 9] },
    { site: siteOf('one', 'two', 'three', 'four', 'five', 'six'), last: [2, 4, 6, 8, 9] },
  ];
  for (const { site, last } of sizes) {
    const shard = await openTestShard();
    await shard.transaction(async (connection) => {
      await connection.run(
        "INSERT INTO batch SELECT range, 'stream', 'log-1', 0, 0, 125000, 0, NULL, NULL, 0 FROM range(1, 10)",
      );
    });
    expect(await lastBatches(shard, site)).toEqual(last);
  }
});
