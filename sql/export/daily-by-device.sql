-- Days by device as rows ("device_day": see publish/device-days), with how a device is called ($device_ids, $device_names).
-- energy_wh: Wh, null where none of the sources that count has energy; coverage: share of the day, 0 to 1.
SELECT c.day, c.device, n.device_name, c.energy_wh, array_to_string(c.methods, ' ') AS method, c.flags, c.coverage, c.status, c.version, c.computed_at
FROM device_day AS c
LEFT JOIN (SELECT unnest($device_ids::UUID[]) AS device, unnest($device_names::VARCHAR[]) AS device_name) AS n USING (device)
