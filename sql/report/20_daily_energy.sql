-- 20 Daily energy: days by device and by source.
--
-- Reads   chosen, device_day (see balance/sum_device_day).
-- Writes  one row for each day: day, members (the members of its JSON object, as bytes).
-- Why     The text is put together in the database, because a million values would take the event loop a second.

-- name: answer_by_device
-- One row for each day that has energy, in any order: the members of its JSON object, "<device>":Wh, sorted, as bytes; null where none of its
-- devices has energy that counts. Reads device_day (see balance/sum_device_day).
-- mixed, undeclared, incomplete: how many of the devices of the day are so
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '":', energy_wh), ',' ORDER BY device) FILTER (energy_wh IS NOT NULL)) AS members,
  (count(*) FILTER (is_mixed))::DOUBLE AS mixed,
  (count(*) FILTER (is_undeclared))::DOUBLE AS undeclared,
  (count(*) FILTER (is_incomplete))::DOUBLE AS incomplete
FROM device_day
GROUP BY day

-- name: answer_by_source
-- One row for each day that has energy, in any order: the members of its JSON object, "<device>.<source>":Wh, sorted, as bytes.
-- The text is put together here because a million values would take the event loop a second.
SELECT
  day::VARCHAR AS day,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':', energy_wh), ',' ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day

-- name: answer_details_by_device
-- As answer_by_device, each value an object with what is to be known of it.
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
-- As answer_by_source, each value an object with what is to be known of it.
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
