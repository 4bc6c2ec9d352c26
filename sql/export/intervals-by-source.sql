-- The intervals of the chosen days ("slot": see report/intervals) as rows, with the time that a clock in $zone shows, and how a device is
-- called ($named_devices). energy_wh: Wh in 15 minutes, null where nothing measured covers them.
SELECT
  s.day,
  make_timestamptz(s.at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(s.at_ms * 1000)) AS interval_start_local,
  s.device,
  n.device_name,
  s.source,
  s.energy_wh
FROM slot AS s
LEFT JOIN (
  SELECT (named->>'id')::UUID AS device, named->>'name' AS device_name
  FROM (SELECT unnest(from_json($named_devices, '["JSON"]')) AS named)
) AS n USING (device)
