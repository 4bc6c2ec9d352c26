-- 90 Trim: messages that the warehouse no longer needs.
--
-- Reads   message, batch, rejected_reading.
-- Writes  message, rejected_reading, dirty_partition.
-- Why     The lake keeps the messages for good. The warehouse keeps only the newest, for streams that are
--         configured later.

-- name: find_trimmed
-- Finds the messages that trim_messages can delete: they are in the lake and rolled up (batches up to
-- $batch_id), and landed before $before_ms.
-- Columns:
--   row_count
--   batch_id   their last batch; null: none
SELECT count(*)::DOUBLE AS row_count, max(batch_id) AS batch_id
FROM message
WHERE batch_id <= $batch_id::BIGINT
  AND batch_id < coalesce((
    SELECT min(batch_id) FROM batch WHERE landed_at_ms >= $before_ms::BIGINT
  ), $batch_id::BIGINT + 1);

-- name: trim_messages
-- Deletes the messages up to $batch_id (see find_trimmed).
DELETE FROM message WHERE batch_id <= $batch_id::BIGINT;

-- name: mark_expired
-- Marks the UTC days of readings that were rejected before $before_ms, so that the lake deletes them too.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'rejected_reading' AS dataset, make_timestamp_ms(day_start_ms)::DATE::VARCHAR AS partition
FROM rejected_reading WHERE day_start_ms < $before_ms::BIGINT;

-- name: expire_rejected
-- Deletes readings that were rejected before $before_ms.
DELETE FROM rejected_reading WHERE day_start_ms < $before_ms::BIGINT;
