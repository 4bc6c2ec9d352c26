-- The chosen days as rows, for the files of exports: all that is known of each, and how its device is called ($named_devices).
-- energy_wh: Wh; coverage: share of the day, 0 to 1.
SELECT c.day, c.device, n.device_name, c.source, c.energy_wh, c.method, list_sort(c.flags) AS flags, c.coverage, c.status, c.version, c.computed_at
FROM chosen AS c
LEFT JOIN (
  SELECT (named->>'id')::UUID AS device, named->>'name' AS device_name
  FROM (SELECT unnest(from_json($named_devices, '["JSON"]')) AS named)
) AS n USING (device)
