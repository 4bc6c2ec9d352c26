-- The newest append time that has landed from other logs than $log_epoch.
-- Parameters: log_epoch.
-- Columns: last_store_time_ms.
SELECT max(last_store_time_ms) AS last_store_time_ms
FROM batch
WHERE log_epoch IS DISTINCT FROM $log_epoch AND (origin = 'stream' OR starts_with(origin, 'backfill:'));
