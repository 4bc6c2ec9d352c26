-- 20 Estimates: what a source would have measured, from comparable days of its own or from another source.
--
-- Reads   daily_energy, reported_interval, series; interval_day (temporary: the local days around).
-- Writes  fill_slot, basis_interval, chosen_day (temporary). Energy in Wh, instants in ms since 1970.
-- Why     An estimate is computed once and stored, so it never changes by itself. An interval or a day is
--         measured if measurements cover at least 99.9 % of it.

-- name: find_slots
-- Finds the intervals to estimate: those of a device ($device) and source ($source) from $from_ms up to
-- $to_ms (excluded). Without $replace only those that measurements do not cover. $timezone: the zone of the
-- days.
-- fill_slot:
--   start_ms, day
--   clock   local time of its start
CREATE OR REPLACE TEMP TABLE fill_slot AS
SELECT d.interval_index * interval_ms() AS start_ms, d.day,
  strftime(make_timestamptz(d.interval_index * interval_ms() * 1000) AT TIME ZONE $timezone, '%H:%M') AS clock
FROM interval_day d
WHERE d.interval_index * interval_ms() >= $from_ms::BIGINT AND d.interval_index * interval_ms() < $to_ms::BIGINT
  AND ($replace OR NOT EXISTS (
    SELECT 1
    FROM daily_energy e
    JOIN series s ON s.device = e.device AND s.source = e.source AND s.stream_id = e.stream_id
    JOIN reported_interval i ON i.series_id = s.series_id
    WHERE e.device = $device::UUID AND e.source = $source AND e.day = d.day AND i.interval_start_ms = d.interval_index * interval_ms()
      AND i.covered_ms >= full_coverage_share() * interval_ms()));

-- name: read_basis
-- Reads the intervals of a device ($device) and source ($source) from $low_ms to $high_ms, of the field from
-- which each day was read.
-- basis_interval:
--   day, start_ms, clock, energy_wh
--   is_known       measurements cover it
--   is_corrected   a person has corrected it
CREATE OR REPLACE TEMP TABLE basis_interval AS
SELECT e.day, i.interval_start_ms AS start_ms,
  strftime(make_timestamptz(i.interval_start_ms * 1000) AT TIME ZONE $timezone, '%H:%M') AS clock,
  i.energy_wh, i.covered_ms >= full_coverage_share() * interval_ms() AS is_known, i.flags & flag('corrected') > 0 AS is_corrected
FROM daily_energy e
JOIN series s ON s.device = e.device AND s.source = e.source AND s.stream_id = e.stream_id
JOIN interval_day d ON d.day = e.day
JOIN (SELECT * FROM reported_interval WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT) AS i
  ON i.series_id = s.series_id AND i.interval_start_ms = d.interval_index * interval_ms()
WHERE e.device = $device::UUID AND e.source = $source;

-- name: choose_days
-- Chooses comparable days for each day to fill: of the same class (Monday to Friday, or Saturday and Sunday),
-- at most $distance_days away, with measurements in the same hours and without corrections. The nearest
-- $days_max are chosen; of two equally near days the earlier one.
-- chosen_day: target, day
CREATE OR REPLACE TEMP TABLE chosen_day AS
WITH target AS (
  SELECT day, count(*) AS slots FROM fill_slot GROUP BY day
), comparable AS (
  SELECT t.day AS target, b.day, abs(b.day - t.day) AS distance
  FROM target t
  JOIN fill_slot f ON f.day = t.day
  JOIN basis_interval b ON b.clock = f.clock AND abs(b.day - t.day) <= $distance_days::INTEGER
  WHERE b.is_known AND (isodow(b.day) >= 6) = (isodow(t.day) >= 6) AND b.day NOT IN (SELECT day FROM target)
    AND b.day NOT IN (SELECT day FROM basis_interval WHERE is_corrected)
  GROUP BY t.day, t.slots, b.day
  HAVING count(DISTINCT f.start_ms) = t.slots
)
SELECT target, day FROM comparable
QUALIFY row_number() OVER (PARTITION BY target ORDER BY distance, day) <= $days_max::INTEGER;

-- name: chosen_days
-- Returns with which days each day is compared.
SELECT t.day::VARCHAR AS target, coalesce(string_agg(c.day::VARCHAR, ',' ORDER BY c.day), '') AS days
FROM (SELECT DISTINCT day FROM fill_slot) AS t LEFT JOIN chosen_day c ON c.target = t.day
GROUP BY t.day ORDER BY t.day;

-- name: median_values
-- Returns each interval as the median of the same quarter of an hour on the comparable days (Wh).
SELECT f.start_ms::DOUBLE AS start_ms, median(b.energy_wh)::DOUBLE AS energy_wh
FROM fill_slot f
JOIN chosen_day c ON c.target = f.day
JOIN basis_interval b ON b.day = c.day AND b.clock = f.clock
GROUP BY f.start_ms ORDER BY f.start_ms;

-- name: find_ratio
-- Returns the energy of a device ($device) and source ($source) for each Wh of another ($like_device,
-- $like_source), as ratio, and the number of days. It is the median of the days that both have measured
-- fully, without corrections or contradictions, from $low_day to $high_day, without $from_day to $to_day.
SELECT median(own.energy_wh / other.energy_wh)::DOUBLE AS ratio, count(*)::DOUBLE AS days
FROM daily_energy own
JOIN daily_energy other USING (day)
WHERE own.device = $device::UUID AND own.source = $source AND other.device = $like_device::UUID AND other.source = $like_source
  AND day BETWEEN $low_day::DATE AND $high_day::DATE AND day NOT BETWEEN $from_day::DATE AND $to_day::DATE
  AND least(own.coverage, other.coverage) >= full_coverage_share() AND (own.flags | other.flags) & (flag('corrected') | flag('contradicted')) = 0
    AND other.energy_wh > 0;

-- name: scaled_values
-- Returns each interval of the other source times $ratio (Wh); null if the other source has no measurement.
SELECT f.start_ms::DOUBLE AS start_ms, (CASE WHEN b.is_known THEN b.energy_wh * $ratio::DOUBLE END)::DOUBLE AS energy_wh
FROM fill_slot f LEFT JOIN basis_interval b ON b.start_ms = f.start_ms
ORDER BY f.start_ms;
