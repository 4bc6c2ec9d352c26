-- One row for each day that has energy, in any order: the members of its JSON object, "<device>":Wh, sorted, as bytes; null where none of its
-- devices has energy that counts. Reads device_day (see balance/11_device_day).
-- mixed, undeclared, incomplete: how many of the devices of the day are so
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', energy_wh), ',' ORDER BY device) FILTER (energy_wh IS NOT NULL)) AS members,
  (count(*) FILTER (is_mixed))::DOUBLE AS mixed,
  (count(*) FILTER (is_undeclared))::DOUBLE AS undeclared,
  (count(*) FILTER (is_incomplete))::DOUBLE AS incomplete
FROM device_day
GROUP BY day
