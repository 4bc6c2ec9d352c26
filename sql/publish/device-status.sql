-- The transitions of devices that were stored from $start_ms up to, not including, $end_ms.
SELECT
  device,
  state,
  reason,
  make_timestamptz(event_time_ms * 1000) AS event_time,
  make_timestamptz(store_time_ms * 1000) AS store_time,
  stream_offset
FROM device_status
WHERE store_time_ms >= $start_ms::BIGINT AND store_time_ms < $end_ms::BIGINT
ORDER BY device, stream_offset
