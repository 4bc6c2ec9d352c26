-- The readings of meters whose intervals start from $start_ms up to, not including, $end_ms. energy_wh: Wh, null where a register fell;
-- is_current: no later upload has replaced it.
SELECT
  meter_code,
  make_timestamptz(start_ms * 1000) AS interval_start,
  make_timestamptz(end_ms * 1000) AS interval_end,
  energy_wh,
  direction,
  quality,
  revision,
  make_timestamptz(received_at_ms * 1000) AS received_at,
  replaced_by IS NULL AS is_current
FROM meter_reading
WHERE start_ms >= $start_ms::BIGINT AND start_ms < $end_ms::BIGINT
ORDER BY meter_code, start_ms, end_ms, revision
