import { expect } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { rowsOf } from './warehouse-fixture.ts';

/**
 * Checks that every offset from 0 to the checkpoint is there exactly once, and every batch whole.
 * @returns the checkpoint
 */
export async function expectExactlyOnce(shard: Shard): Promise<number> {
  const next = Number((await shard.checkpoint('stream'))?.nextOffset ?? 0n);
  const [messages] = await rowsOf(
    shard,
    `SELECT count(*)::INTEGER AS n, count(DISTINCT stream_offset)::INTEGER AS different,
       coalesce(max(stream_offset)::INTEGER + 1, 0) AS beyond, count(*) FILTER (numbers[1] <> stream_offset)::INTEGER AS wrong
     FROM message`,
  );
  expect(messages).toEqual({ n: next, different: next, beyond: next, wrong: 0 });
  const partial = await rowsOf(
    shard,
    `SELECT batch_id, message_count, counted.n
     FROM batch FULL JOIN (SELECT batch_id, count(*) AS n FROM message GROUP BY batch_id) AS counted USING (batch_id)
     WHERE message_count IS DISTINCT FROM counted.n`,
  );
  expect(partial).toEqual([]);
  const nameless = await rowsOf(
    shard,
    `SELECT DISTINCT unnest(field_ids) AS id FROM message EXCEPT SELECT name_id FROM name`,
  );
  expect(nameless).toEqual([]);
  return next;
}
