-- 20 Daily energy: days by device and by source.
--
-- Reads   chosen, device_day (see balance/sum_device_day), energy (of select_energy_by_source or
--         select_energy_by_device).
-- Writes  one row for each day, month or year (period; members: the members of its JSON object, as bytes).
-- Why     The database builds the JSON text, because a million values would block the event loop for a
--         second.

-- name: answer_by_device
-- Returns one row for each day with energy, in any order. Reads device_day (see balance/sum_device_day).
-- Columns:
--   period                          the day
--   members                         the members of its JSON object, "<device>":Wh, sorted, as bytes; null if
--                                   none of its devices has energy that counts
--   mixed, undeclared, incomplete   number of such devices of the day
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat('"', device, '":', energy_wh), ','
    ORDER BY device) FILTER (energy_wh IS NOT NULL)) AS members,
  (count(*) FILTER (is_mixed))::DOUBLE AS mixed,
  (count(*) FILTER (is_undeclared))::DOUBLE AS undeclared,
  (count(*) FILTER (is_incomplete))::DOUBLE AS incomplete
FROM device_day
GROUP BY day;

-- name: answer_by_source
-- Returns one row for each day with energy, in any order: the members of its JSON object,
-- "<device>.<source>":Wh, sorted, as bytes.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat(to_json(concat(device, '.', source)), ':', energy_wh), ','
    ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day;

-- name: answer_details_by_device
-- Like answer_by_device; each value is an object with all details.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(
    concat('"', device, '":', details_json(energy_wh, methods, flags, coverage, status, version, computed_at)), ','
    ORDER BY device)) AS members
FROM device_day
GROUP BY day;

-- name: answer_details_by_source
-- Like answer_by_source; each value is an object with all details.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(
    concat(to_json(concat(device, '.', source)), ':',
      details_json(energy_wh, [method], list_sort(flags), coverage, status, version, computed_at)), ','
    ORDER BY file_row_number)) AS members
FROM chosen
GROUP BY day;

-- name: answer_periods_by_device
-- Returns one row for each month or year with energy: like answer_by_device, with the sums of its days of the
-- range. $period_digits: number of characters of a day that name its period, 7 or 4.
SELECT
  period,
  encode(string_agg(concat('"', device, '":', period_wh), ','
    ORDER BY device) FILTER (period_wh IS NOT NULL)) AS members,
  sum(mixed)::DOUBLE AS mixed,
  sum(undeclared)::DOUBLE AS undeclared,
  sum(incomplete)::DOUBLE AS incomplete
FROM (
  SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, device, sum(energy_wh)::BIGINT AS period_wh,
    count(*) FILTER (is_mixed) AS mixed, count(*) FILTER (is_undeclared) AS undeclared,
    count(*) FILTER (is_incomplete) AS incomplete
  FROM device_day
  GROUP BY period, device
)
GROUP BY period;

-- name: answer_periods_by_source
-- Like answer_periods_by_device, by device and source.
SELECT
  period,
  encode(string_agg(concat(to_json(concat(device, '.', source)), ':', period_wh), ','
    ORDER BY device, source)) AS members
FROM (
  SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, device, source, sum(energy_wh)::BIGINT AS period_wh
  FROM chosen
  GROUP BY period, device, source
)
GROUP BY period;

-- name: select_energy_by_device
-- Selects the energy of devices by period. $period_digits: number of characters of a day that name its
-- period, 10, 7 or 4. report/answer_top reads it as "energy".
-- Columns:
--   period
--   name   as JSON text
--   energy_wh, is_mixed, is_undeclared, is_incomplete
SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, to_json(device::VARCHAR)::VARCHAR AS name, energy_wh,
  is_mixed, is_undeclared, is_incomplete
FROM device_day;

-- name: select_energy_by_source
-- The same of sources, which have no such flags.
SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, to_json(concat(device, '.', source))::VARCHAR AS name,
  energy_wh, false AS is_mixed, false AS is_undeclared, false AS is_incomplete
FROM chosen;

-- name: answer_top
-- Returns one row for each period with energy, like answer_by_device: the $top names with most energy in the
-- range, largest first, and the sum of all others as "others". Reads energy.
WITH ranked AS (
  -- The place of each name: 1 has the most energy.
  SELECT name, row_number() OVER (ORDER BY abs(sum(energy_wh)) DESC, name) AS place
  FROM energy
  WHERE energy_wh IS NOT NULL
  GROUP BY name
), member AS (
  -- The energy of each period and of each name that is shown, with all others as one name.
  SELECT period,
    CASE WHEN place <= $top::BIGINT THEN name ELSE '"others"' END AS member_name,
    least(place, $top::BIGINT + 1) AS member_place,
    sum(energy_wh)::BIGINT AS member_wh,
    count(*) FILTER (is_mixed) AS mixed, count(*) FILTER (is_undeclared) AS undeclared,
    count(*) FILTER (is_incomplete) AS incomplete
  FROM energy
  LEFT JOIN ranked USING (name)
  GROUP BY ALL
)
SELECT
  period,
  encode(string_agg(concat(member_name, ':', member_wh), ','
    ORDER BY member_place) FILTER (member_wh IS NOT NULL)) AS members,
  sum(mixed)::DOUBLE AS mixed,
  sum(undeclared)::DOUBLE AS undeclared,
  sum(incomplete)::DOUBLE AS incomplete
FROM member
GROUP BY period;
