-- 20 Daily energy: days by device and by source.
--
-- Reads   chosen, device_day (see balance/sum_device_day).
-- Writes  one row for each day: day, members (the members of its JSON object, as bytes).
-- Why     The database builds the JSON text, because a million values would block the event loop for a second.

-- name: answer_by_device
-- Returns one row for each day with energy, in any order: the members of its JSON object, "<device>":Wh, sorted, as bytes; null if none of its
-- devices has energy that counts. Reads device_day (see balance/sum_device_day).
-- mixed, undeclared, incomplete: number of such devices of the day
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', energy_wh), ',' ORDER BY device) FILTER (energy_wh IS NOT NULL)) AS members,
  (count(*) FILTER (is_mixed))::DOUBLE AS mixed,
  (count(*) FILTER (is_undeclared))::DOUBLE AS undeclared,
  (count(*) FILTER (is_incomplete))::DOUBLE AS incomplete
FROM device_day
GROUP BY day

-- name: answer_by_source
-- Returns one row for each day with energy, in any order: the members of its JSON object, "<device>.<source>":Wh, sorted, as bytes.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':', energy_wh), ',' ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day

-- name: answer_details_by_device
-- Like answer_by_device; each value is an object with all details.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', to_json({
    energyWh: energy_wh,
    methods: methods,
    flags: flags,
    coverage: coverage,
    status: status,
    version: version,
    computedAt: strftime(make_timestamp(epoch_us(computed_at)), '%Y-%m-%dT%H:%M:%S.%gZ')
  })), ',' ORDER BY device)) AS members
FROM device_day
GROUP BY day

-- name: answer_details_by_source
-- Like answer_by_source; each value is an object with all details.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':', to_json({
    energyWh: energy_wh,
    methods: [method],
    flags: list_sort(flags),
    coverage: coverage,
    status: status,
    version: version,
    computedAt: strftime(make_timestamp(epoch_us(computed_at)), '%Y-%m-%dT%H:%M:%S.%gZ')
  })), ',' ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day
