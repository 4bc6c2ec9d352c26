-- As landed, of the messages that the files of the lake ($files) hold.
-- Columns: stream_offset, event_time_ms.
SELECT m.stream_offset, epoch_ms(m.event_time) AS event_time_ms
FROM read_parquet($files, hive_partitioning = false) m
JOIN batch b USING (batch_id)
WHERE m.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND m.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND b.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (b.origin = 'stream' OR starts_with(b.origin, 'backfill:'));
