-- 50 Devices: their state, and their declarations.
--
-- Reads   device_status, device_state; series; declared_device, declared_zone, device_source, role_span,
--         declared_peak (temporary: from the configuration, see devices/ and balance/).
-- Writes  nothing. Returns the rows of the datasets device_status, device_state, device, workgroup,
--         device_source, source_role and peak_power.
-- Why     The energy of a device follows from roles. The lake contains them, so that its views and the
--         reports add up the same sources.

-- name: select_device_status
-- Selects the transitions of devices that were stored from $start_ms up to $end_ms (excluded).
SELECT
  device,
  state,
  reason,
  make_timestamptz(event_time_ms * 1000) AS event_time,
  make_timestamptz(store_time_ms * 1000) AS store_time,
  stream_offset
FROM device_status
WHERE store_time_ms >= $start_ms::BIGINT AND store_time_ms < $end_ms::BIGINT
ORDER BY device, stream_offset;

-- name: select_device_state
-- Selects the last known state of each device, and the time of its last message.
SELECT
  device,
  coalesce(state, 'unknown') AS state,
  make_timestamptz(since_ms * 1000) AS since,
  reason,
  make_timestamptz(last_seen_ms * 1000) AS last_seen
FROM device_state
ORDER BY device;

-- name: select_device
-- Selects the devices that are configured or have messages, with their ids as text and their configured
-- names. Temporary table declared_device: see devices/declare_devices.
SELECT device, device::VARCHAR AS device_id, any_value(name) AS name
FROM (
  SELECT device, name FROM declared_device WHERE device IS NOT NULL
  UNION ALL BY NAME SELECT device FROM device_state
  UNION ALL BY NAME SELECT DISTINCT device FROM series
)
GROUP BY device
ORDER BY device;

-- name: select_workgroup
-- Selects the time zone of the workgroup. Temporary table declared_zone: see publish/declare_zone.
SELECT timezone FROM declared_zone;

-- name: declare_zone
-- Stores the time zone of the workgroup ($timezone).
-- declared_zone: timezone
CREATE OR REPLACE TEMP TABLE declared_zone AS SELECT $timezone::VARCHAR AS timezone;

-- name: select_device_source
-- Selects which sources count for the energy of devices, by ranges of days. Temporary table device_source:
-- see balance/find_device_source.
SELECT * FROM device_source ORDER BY device, source, valid_from NULLS FIRST;

-- name: select_source_role
-- Selects the roles of sources by ranges of days, from the configuration. Temporary table role_span: see
-- balance/find_device_source. The last column, within, is the series of the source that contains it, or
-- `site`.
SELECT *,
  CASE
    WHEN within_site THEN 'site'
    WHEN within_device IS NOT NULL THEN concat(within_device, '.', within_source)
  END AS within
FROM role_span
ORDER BY device, source, valid_from NULLS FIRST;

-- name: select_peak_power
-- Selects the peak power of devices by ranges of days (kWp). Temporary table declared_peak: see
-- devices/declare_devices.
SELECT device, kwp, valid_from, valid_to FROM declared_peak ORDER BY device, valid_from NULLS FIRST;
