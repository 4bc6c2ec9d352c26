-- Days by device as rows ("device_day": see publish/device-days), with how a device is called ($named_devices).
-- energy_wh: Wh, null where none of the sources that count has energy; coverage: share of the day, 0 to 1.
SELECT c.day, c.device, n.device_name, c.energy_wh, array_to_string(c.methods, ' ') AS method, c.flags, c.coverage, c.status, c.version, c.computed_at
FROM device_day AS c
LEFT JOIN (
  SELECT (named->>'id')::UUID AS device, named->>'name' AS device_name
  FROM (SELECT unnest(from_json($named_devices, '["JSON"]')) AS named)
) AS n USING (device)
