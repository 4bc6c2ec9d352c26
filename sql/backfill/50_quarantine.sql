-- 50 Quarantine: messages that could not be decoded before and can be now.
--
-- Reads   quarantine, batch.
-- Writes  quarantine, dirty_partition.
-- Why     Messages that an earlier version of the program could not read are not lost.

-- name: find_quarantined_messages
-- Returns messages of the stream that could not be decoded, with their bytes: at most $rows_max after
-- $after_key in batch $after_batch_id. Messages that the warehouse itself refused (cannot_land) are left out.
-- Columns:
--   batch_id
--   key   unique in its batch
--   bytes, log_epoch
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

-- name: release_quarantined
-- Deletes messages of a batch ($batch_id) that could be decoded now from the quarantine ($keys as in
-- find_quarantined_messages).
DELETE FROM quarantine
WHERE batch_id = $batch_id::BIGINT AND stage = 'land' AND list_contains($keys::VARCHAR[], md5(bytes));

-- name: mark_quarantine_dirty
-- Marks the quarantine, so that the lake writes it again.
INSERT INTO dirty_partition (dataset, partition) VALUES ('quarantine', 'backfill');
