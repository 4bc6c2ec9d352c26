-- 30 Intervals: the 15-minute intervals of days.
--
-- Reads   counted, profile (of select_intervals_by_source or select_intervals_by_device); files of
--         interval_energy of the generation.
-- Writes  slot (one row for each interval), and from it one row for each day (period: the day; members, as
--         bytes).
-- Why     The intervals come from the stream from which the day was read, so they add up to the day.

-- name: select_intervals
-- Selects the 15-minute intervals of the days of "counted" (see report/select_counted), from the stream from
-- which each day was read. Every interval of a day has a row. answer_intervals_by_source,
-- answer_intervals_by_device, select_intervals_by_source and select_intervals_by_device read it as "slot".
-- $days, $own_days, $starts_ms, $ends_ms: the parts of the answered days that lie in one day of the
-- workgroup, from the time zone database. $interval_ms: length of an interval. $interval_files: the files of
-- the generation with these days.
-- Columns:
--   day, device, source, at_ms
--   energy_wh   null: no measurement covers the interval
WITH piece AS (
  -- The parts of the answered days that lie in one day of the workgroup.
  SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($own_days::VARCHAR[])::DATE AS own_day,
    unnest($starts_ms::BIGINT[]) AS start_ms, unnest($ends_ms::BIGINT[]) AS end_ms
), answered AS (
  -- The sources of each answered day.
  SELECT DISTINCT piece.day, counted.device, counted.source FROM counted JOIN piece ON piece.own_day = counted.day
), wanted AS (
  -- Every interval of these days, with the stream from which its day of the workgroup was read. A day of
  -- another zone can begin or end on a day without energy. Then there is no stream, and the energy is null.
  SELECT answered.day, answered.device, answered.source, counted.stream_id, counted.part,
    unnest(range(piece.start_ms, piece.end_ms, $interval_ms::BIGINT)) AS at_ms
  FROM answered
  JOIN piece ON piece.day = answered.day
  LEFT JOIN counted
    ON counted.day = piece.own_day AND counted.device = answered.device AND counted.source = answered.source
), stored AS (
  -- The stored intervals of the answered days that measurements cover.
  SELECT device, source, stream_id, epoch_ms(interval_start) AS at_ms, energy_wh
  FROM read_parquet($interval_files, hive_partitioning = false)
  WHERE interval_start >= make_timestamptz(list_min($starts_ms::BIGINT[]) * 1000)
    AND interval_start < make_timestamptz(list_max($ends_ms::BIGINT[]) * 1000)
    -- Energy of an instant has no covered time: a daily register shows a few Wh exactly at midnight.
    AND (covered_ms > 0 OR energy_wh <> 0)
)
SELECT wanted.day, wanted.device, wanted.source, wanted.at_ms,
  CASE
    WHEN stored.energy_wh IS NULL THEN NULL
    WHEN wanted.part = 'rise' THEN greatest(stored.energy_wh, 0)
    WHEN wanted.part = 'fall' THEN greatest(-stored.energy_wh, 0)
    ELSE stored.energy_wh
  END AS energy_wh
FROM wanted
LEFT JOIN stored
  ON stored.device = wanted.device AND stored.source = wanted.source AND stored.stream_id = wanted.stream_id
    AND stored.at_ms = wanted.at_ms;

-- name: answer_intervals_by_source
-- Returns one row for each day with energy, in any order: "<device>.<source>":[Wh of each interval, in
-- order], sorted, as bytes.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat('"', device, '.', substr(to_json(source)::VARCHAR, 2), ':[', profile, ']'), ','
    ORDER BY device, source)) AS members
FROM (
  SELECT day, device, source, string_agg(coalesce(energy_wh::VARCHAR, 'null'), ',' ORDER BY at_ms) AS profile
  FROM slot GROUP BY day, device, source
)
GROUP BY day;

-- name: answer_intervals_by_device
-- Like answer_intervals_by_source, with the sources of a device added up.
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat('"', device, '":[', profile, ']'), ',' ORDER BY device)) AS members
FROM (
  SELECT day, device, string_agg(coalesce(energy_wh::VARCHAR, 'null'), ',' ORDER BY at_ms) AS profile
  FROM (SELECT day, device, at_ms, sum(energy_wh)::BIGINT AS energy_wh FROM slot GROUP BY day, device, at_ms)
  GROUP BY day, device
)
GROUP BY day;

-- name: select_intervals_by_source
-- Selects the 15-minute energy of sources. report/answer_top_intervals reads it as "profile".
-- Columns:
--   day
--   name   as JSON text
--   at_ms, energy_wh
SELECT day, to_json(concat(device, '.', source))::VARCHAR AS name, at_ms, energy_wh FROM slot;

-- name: select_intervals_by_device
-- The same of devices.
SELECT day, to_json(device::VARCHAR)::VARCHAR AS name, at_ms, sum(energy_wh)::BIGINT AS energy_wh
FROM slot
GROUP BY day, device, at_ms;

-- name: answer_top_intervals
-- Returns one row for each day with energy, like answer_intervals_by_device: the $top names with most energy
-- in the range, largest first, and the sum of all others as "others". An interval of the others is null if
-- none of them is known. Reads profile.
WITH ranked AS (
  -- The place of each name: 1 has the most energy.
  SELECT name, row_number() OVER (ORDER BY abs(sum(energy_wh)) DESC NULLS LAST, name) AS place
  FROM profile
  GROUP BY name
), member AS (
  -- The energy of each interval and of each name that is shown, with all others as one name.
  SELECT day,
    CASE WHEN place <= $top::BIGINT THEN name ELSE '"others"' END AS member_name,
    least(place, $top::BIGINT + 1) AS member_place, at_ms,
    sum(energy_wh)::BIGINT AS energy_wh
  FROM profile
  JOIN ranked USING (name)
  GROUP BY ALL
)
SELECT
  day::VARCHAR AS period,
  encode(string_agg(concat(member_name, ':[', profile, ']'), ',' ORDER BY member_place)) AS members
FROM (
  SELECT day, member_name, member_place, string_agg(coalesce(energy_wh::VARCHAR, 'null'), ',' ORDER BY at_ms) AS profile
  FROM member GROUP BY day, member_name, member_place
)
GROUP BY day;
