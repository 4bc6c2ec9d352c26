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
SELECT quarantine.batch_id, md5(quarantine.bytes) AS key, quarantine.bytes, batch.log_epoch
FROM quarantine
JOIN batch USING (batch_id)
WHERE quarantine.stage = 'land'
  AND quarantine.reason <> 'cannot_land'
  AND (batch.origin = 'stream' OR starts_with(batch.origin, 'backfill:'))
  AND quarantine.batch_id >= $after_batch_id::BIGINT
  AND (quarantine.batch_id > $after_batch_id::BIGINT OR md5(quarantine.bytes) > $after_key)
ORDER BY quarantine.batch_id, key
LIMIT $rows_max::BIGINT;

-- name: release_quarantined
-- Deletes messages of a batch ($batch_id) that could be decoded now from the quarantine ($keys as in
-- find_quarantined_messages).
DELETE FROM quarantine
WHERE batch_id = $batch_id::BIGINT AND stage = 'land' AND list_contains($keys::VARCHAR[], md5(bytes));

-- name: mark_quarantine_dirty
-- Marks the quarantine, so that the lake writes it again.
INSERT INTO dirty_partition (dataset, partition) VALUES ('quarantine', 'backfill');
