-- As intervals-by-source, the sources of a device added up.
SELECT
  s.day,
  make_timestamptz(s.at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(s.at_ms * 1000)) AS interval_start_local,
  s.device,
  n.device_name,
  s.energy_wh
FROM (SELECT day, device, at_ms, sum(energy_wh)::BIGINT AS energy_wh FROM slot GROUP BY day, device, at_ms) AS s
LEFT JOIN (
  SELECT (named->>'id')::UUID AS device, named->>'name' AS device_name
  FROM (SELECT unnest(from_json($named_devices, '["JSON"]')) AS named)
) AS n USING (device)
