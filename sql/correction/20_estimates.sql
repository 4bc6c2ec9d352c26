-- 20 Estimates: what a source would have measured, from comparable days of its own or from another source.
--
-- Reads   daily_energy, reported_interval, series; interval_day (temporary: the local days around).
-- Writes  fill_slot, basis_interval, chosen_day (temporary). Energy in Wh, instants in ms since 1970.
-- Why     An estimate is worked out once and stored, so that it never changes by itself.

-- name: find_slots
-- The intervals to estimate: those of a device ($device) and source ($source) from $from_ms up to, not including, $to_ms; without $replace only those
-- that measurements do not cover. interval_day, $timezone: the local days around.
-- fill_slot: start_ms, day, clock (what a clock shows at its start)
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
      AND i.covered_ms >= 0.999 * interval_ms()));

-- name: read_basis
-- What a device ($device) and source ($source) measured from $low_ms to $high_ms, in the intervals of the field that each day was read from.
-- basis_interval: day, start_ms, clock, energy_wh, is_known (measurements cover it), is_corrected (a person has said it)
CREATE OR REPLACE TEMP TABLE basis_interval AS
SELECT e.day, i.interval_start_ms AS start_ms,
  strftime(make_timestamptz(i.interval_start_ms * 1000) AT TIME ZONE $timezone, '%H:%M') AS clock,
  i.energy_wh, i.covered_ms >= 0.999 * interval_ms() AS is_known, i.flags & flag('corrected') > 0 AS is_corrected
FROM daily_energy e
JOIN series s ON s.device = e.device AND s.source = e.source AND s.stream_id = e.stream_id
JOIN interval_day d ON d.day = e.day
JOIN (SELECT * FROM reported_interval WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT) AS i
  ON i.series_id = s.series_id AND i.interval_start_ms = d.interval_index * interval_ms()
WHERE e.device = $device::UUID AND e.source = $source;

-- name: choose_days
-- For each day to fill the comparable days: of the same class (Monday to Friday, or Saturday and Sunday), at most $distance_days away, on which the same
-- hours are measured and nobody has corrected anything; the nearest $days_max of them, the earlier of two that are equally near.
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
-- How many days each day is compared with, and which.
SELECT t.day::VARCHAR AS target, coalesce(string_agg(c.day::VARCHAR, ',' ORDER BY c.day), '') AS days
FROM (SELECT DISTINCT day FROM fill_slot) AS t LEFT JOIN chosen_day c ON c.target = t.day
GROUP BY t.day ORDER BY t.day;

-- name: median_values
-- Each interval as the median of the same quarter of an hour of the comparable days, Wh.
SELECT f.start_ms::DOUBLE AS start_ms, median(b.energy_wh)::DOUBLE AS energy_wh
FROM fill_slot f
JOIN chosen_day c ON c.target = f.day
JOIN basis_interval b ON b.day = c.day AND b.clock = f.clock
GROUP BY f.start_ms ORDER BY f.start_ms;

-- name: find_ratio
-- How much a device ($device) and source ($source) bring for each Wh of another ($like_device, $like_source): the median of the days that both have,
-- whole and neither corrected nor contradicted, from $low_day to $high_day without those from $from_day to $to_day.
-- Returns ratio, days.
SELECT median(own.energy_wh / other.energy_wh)::DOUBLE AS ratio, count(*)::DOUBLE AS days
FROM daily_energy own
JOIN daily_energy other USING (day)
WHERE own.device = $device::UUID AND own.source = $source AND other.device = $like_device::UUID AND other.source = $like_source
  AND day BETWEEN $low_day::DATE AND $high_day::DATE AND day NOT BETWEEN $from_day::DATE AND $to_day::DATE
  AND least(own.coverage, other.coverage) >= 0.999 AND (own.flags | other.flags) & (flag('corrected') | flag('contradicted')) = 0 AND other.energy_wh > 0;

-- name: scaled_values
-- Each interval as the other source has it, times $ratio, Wh; null where the other does not know it.
SELECT f.start_ms::DOUBLE AS start_ms, (CASE WHEN b.is_known THEN b.energy_wh * $ratio::DOUBLE END)::DOUBLE AS energy_wh
FROM fill_slot f LEFT JOIN basis_interval b ON b.start_ms = f.start_ms
ORDER BY f.start_ms;
