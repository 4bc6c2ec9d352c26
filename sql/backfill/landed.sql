-- What has landed of the stream and is still in the warehouse: of $offsets, which lie from $low to $high, of the log $log_epoch.
-- An offset that a log gave twice (after it had lost its tail) belongs to two messages, so the event time is told beside it.
-- Columns: stream_offset, event_time_ms.
SELECT m.stream_offset, m.event_time_ms
FROM message m
JOIN batch b USING (batch_id)
WHERE m.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND m.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND b.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (b.origin = 'stream' OR starts_with(b.origin, 'backfill:'));
