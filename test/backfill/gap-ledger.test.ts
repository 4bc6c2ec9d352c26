import { expect, test } from 'vitest';
import { openGaps } from '../../src/backfill/plan-gaps.ts';
import { query } from '../../src/warehouse/query.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';

test('open gaps of the stream are listed, and a backfill closes those that are still open', async () => {
  const shard = await openTestShard();
  await shard.transaction((connection) =>
    connection.run(
      `INSERT INTO gap BY NAME SELECT *, 'expired' AS reason, 10 AS from_time_ms, 20 AS to_time_ms, 1 AS detected_at_ms FROM (VALUES
         (2, 'stream', NULL, NULL, 'old'), (1, 'stream', NULL, NULL, NULL), (3, 'stream', 5, 9, NULL), (4, 'backfill:1:0', NULL, NULL, NULL))
         AS told (gap_id, origin, closed_at_ms, closed_by, note)`,
    ),
  );
  const listed = await openGaps(shard, async () => ({ kind: 'all', firstMs: 10, messages: undefined }));
  expect(listed).toMatchObject([
    { gapId: 1, fromMs: 10, toMs: 20 },
    { gapId: 2, fromMs: 10, toMs: 20 },
  ]);
  const closed = await shard.transaction((connection) =>
    query(connection, 'backfill/close_gaps', { gap_ids: [2n, 3n], backfill_id: 7, now_ms: 8 }),
  );
  expect(closed).toEqual([{ gap_id: 2 }]);
  const states =
    'SELECT gap_id::INTEGER AS gap, closed_at_ms, closed_by, note FROM gap WHERE closed_at_ms IS NOT NULL ORDER BY gap';
  expect(await rowsOf(shard, states)).toEqual([
    { gap: 2, closed_at_ms: 8n, closed_by: 7n, note: null },
    { gap: 3, closed_at_ms: 5n, closed_by: 9n, note: null },
  ]);
});
