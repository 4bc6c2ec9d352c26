-- Whole messages of the stream that could not be decoded, with the bytes that they came as: at most $rows_max of them after $after_key in batch
-- $after_batch_id. What the warehouse itself refused (cannot_land) is not among them.
-- Columns: batch_id, key (names it within its batch), bytes, log_epoch.
SELECT q.batch_id, md5(q.bytes) AS key, q.bytes, b.log_epoch
FROM quarantine q
JOIN batch b USING (batch_id)
WHERE q.stage = 'land'
  AND q.reason <> 'cannot_land'
  AND (b.origin = 'stream' OR starts_with(b.origin, 'backfill:'))
  AND q.batch_id >= $after_batch_id::BIGINT
  AND (q.batch_id > $after_batch_id::BIGINT OR md5(q.bytes) > $after_key)
ORDER BY q.batch_id, key
LIMIT $rows_max::BIGINT;
