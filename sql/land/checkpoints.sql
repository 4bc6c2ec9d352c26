-- Every checkpoint.
-- Columns: origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms.
SELECT origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms
FROM checkpoint
ORDER BY origin
