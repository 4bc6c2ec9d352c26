import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import { type EnergySite, rollUpSite } from './support.ts';

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

test('a call takes in a million readings where few streams read the messages, and 250,000 messages in any case', async () => {
  const sizes = [
    { site: siteOf('one'), last: [8, 9] },
    { site: siteOf('one', 'two'), last: [4, 8, 9] },
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

test('where memory is too small for all batches, fewer are taken in', async () => {
  const shard = await openTestShard({ memoryMegabytes: 40 });
  const start = Date.UTC(2026, 10, 1);
  await shard.transaction(async (connection) => {
    await connection.run("INSERT INTO name VALUES (900, 't'), (901, 'pv'), (902, 'one')");
    await connection.run(
      `INSERT INTO message (batch_id, stream_offset, table_id, kind, device, source_id, event_time_ms, store_time_ms, message_id, field_ids, numbers, other)
       SELECT 1 + range // 20000, range, 900, 0, md5((range % 50)::VARCHAR)::UUID, 901, ${start} + range // 50 * 60000, ${start} + range // 50 * 60000, NULL,
         [902], [range], NULL FROM range(300000)`,
    );
    await connection.run(
      "INSERT INTO batch SELECT batch_id, 'stream', 'log-1', 0, 0, count(*), 0, NULL, NULL, 0 FROM message GROUP BY batch_id",
    );
  });
  const calls = await lastBatches(shard, siteOf('one'));
  expect(calls.length).toBeGreaterThan(1);
  expect(calls.at(-1)).toBe(15);
  expect(await rowsOf(shard, 'SELECT count(*) AS readings FROM reading')).toEqual([{ readings: 300_000n }]);
});
