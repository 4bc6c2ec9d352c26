-- How many telemetry messages of some tables ($tables) the lake's files ($files) have that the warehouse no longer has (batches before
-- $kept_batch_id), by five minutes of event time from $from_ms up to, not including, $to_ms. Columns: start_ms, messages.
SELECT (epoch_ms(event_time) // 300000 * 300000)::DOUBLE AS start_ms, count(*)::DOUBLE AS messages
FROM read_parquet($files, hive_partitioning = false)
WHERE kind = 'telemetry'
  AND list_contains($tables::VARCHAR[], "table")
  AND batch_id < $kept_batch_id::BIGINT
  AND event_time >= make_timestamptz($from_ms::BIGINT * 1000)
  AND event_time < make_timestamptz($to_ms::BIGINT * 1000)
GROUP BY start_ms
ORDER BY start_ms;
