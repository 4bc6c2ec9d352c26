-- As intervals-by-source, the sources of a device added up.
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  sum(energy_wh)::BIGINT AS energy_wh
FROM slot
GROUP BY day, device, at_ms
