-- The devices of a generation's device_state ($files) with their last known state. Instants in ms since 1970, null where there is none.
SELECT
  device::VARCHAR AS device,
  state,
  epoch_ms(since)::DOUBLE AS since_ms,
  reason,
  epoch_ms(last_seen)::DOUBLE AS last_seen_ms
FROM read_parquet($files, hive_partitioning = false)
ORDER BY device;
