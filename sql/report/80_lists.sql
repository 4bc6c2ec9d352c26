-- 80 Lists: devices, their sources and states, and the audit log.
--
-- Reads   files of series, of daily_energy, of device_state and of messages of the generation.
-- Writes  one row for each source, for each device, or for each entry.
-- Why     People choose devices and sources by name, and see who did what.

-- name: list_sources
-- Returns the sources of a generation's series ($files) by device.
SELECT DISTINCT device::VARCHAR AS device, source
FROM read_parquet($files, hive_partitioning = false)
ORDER BY ALL;

-- name: list_devices_with_days
-- Returns those of $devices (UUIDs as text) that have days in the files of daily_energy ($files).
SELECT DISTINCT device::VARCHAR AS device
FROM read_parquet($files, hive_partitioning = false)
WHERE device IN (SELECT unnest($devices::UUID[]));

-- name: list_device_states
-- Returns the devices of a generation's device_state ($files) with their last known state. Instants in ms
-- since 1970; null if unknown.
SELECT
  device::VARCHAR AS device,
  state,
  epoch_ms(since)::DOUBLE AS since_ms,
  reason,
  epoch_ms(last_seen)::DOUBLE AS last_seen_ms
FROM read_parquet($files, hive_partitioning = false)
ORDER BY device;

-- name: list_audit_entries
-- Returns entries of the audit log in files of messages ($files), the newest first by the time at which they
-- were stored: at most $rows_max, before the entry that was stored at $before_ms with offset $before_offset.
-- Columns:
--   event_ms, store_ms, stream_offset
--   other   JSON object with actor, action, target and data
SELECT epoch_ms(event_time)::DOUBLE AS event_ms, epoch_ms(store_time)::DOUBLE AS store_ms,
  coalesce(stream_offset, 0)::VARCHAR AS stream_offset, other
FROM read_parquet($files, hive_partitioning = false)
WHERE kind = 'audit'
  AND (epoch_ms(store_time), coalesce(stream_offset, 0)) < ($before_ms::BIGINT, $before_offset::UBIGINT)
ORDER BY store_time DESC, stream_offset DESC
LIMIT $rows_max::BIGINT;
