-- 20 Estimates: what a source would have measured, from comparable days of its own or from another source.
--
-- Reads   daily_energy, reported_interval, series; interval_day (temporary: the local days around).
-- Writes  fill_slot, basis_interval, chosen_day (temporary). Energy in Wh, instants in ms since 1970.
-- Why     An estimate is computed once and stored, so it never changes by itself. An interval or a day is
--         measured if measurements cover at least full_coverage_share() of it.

-- name: collect_slots
-- Finds the intervals to estimate: those of a device ($device) and source ($source) from $from_ms up to
-- $to_ms (excluded). Without $replace only those that measurements do not cover. $timezone: the zone of the
-- days.
-- fill_slot:
--   start_ms, day
--   clock   local time of its start
CREATE OR REPLACE TEMP TABLE fill_slot AS
SELECT start_ms_of(interval_day.interval_index) AS start_ms, interval_day.day,
  strftime(make_timestamptz(start_ms_of(interval_day.interval_index) * 1000) AT TIME ZONE $timezone, '%H:%M') AS clock
FROM interval_day
WHERE start_ms_of(interval_day.interval_index) >= $from_ms::BIGINT
  AND start_ms_of(interval_day.interval_index) < $to_ms::BIGINT
  AND ($replace OR NOT EXISTS (
    SELECT 1
    FROM daily_energy
    JOIN series USING (device, source, stream_id)
    JOIN reported_interval USING (series_id)
    WHERE daily_energy.device = $device::UUID AND daily_energy.source = $source AND daily_energy.day = interval_day.day
      AND reported_interval.interval_start_ms = start_ms_of(interval_day.interval_index)
      AND reported_interval.covered_ms >= full_coverage_share() * interval_ms()
  ));

-- name: collect_basis
-- Reads the intervals of a device ($device) and source ($source) from $low_ms to $high_ms, of the field from
-- which each day was read. $timezone: the zone of the days.
-- basis_interval:
--   day, start_ms, clock, energy_wh
--   is_known       measurements cover it
--   is_corrected   a person has corrected it
CREATE OR REPLACE TEMP TABLE basis_interval AS
SELECT daily_energy.day, stored.interval_start_ms AS start_ms,
  strftime(make_timestamptz(stored.interval_start_ms * 1000) AT TIME ZONE $timezone, '%H:%M') AS clock,
  stored.energy_wh, stored.covered_ms >= full_coverage_share() * interval_ms() AS is_known,
  stored.flags & flag('corrected') > 0 AS is_corrected
FROM daily_energy
JOIN series USING (device, source, stream_id)
JOIN interval_day ON interval_day.day = daily_energy.day
JOIN (SELECT * FROM reported_interval WHERE interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT) AS stored
  ON stored.series_id = series.series_id AND stored.interval_start_ms = start_ms_of(interval_day.interval_index)
WHERE daily_energy.device = $device::UUID AND daily_energy.source = $source;

-- name: choose_days
-- Chooses comparable days for each day to fill: of the same class (Monday to Friday, or Saturday and Sunday),
-- at most $distance_days away, with measurements in the same hours and without corrections. The nearest
-- $days_max are chosen; of two equally near days the earlier one.
-- chosen_day: target, day
CREATE OR REPLACE TEMP TABLE chosen_day AS
WITH target AS (
  -- The days to fill, with the number of their intervals to estimate.
  SELECT day, count(*) AS slots FROM fill_slot GROUP BY day
), comparable AS (
  -- The days that can be compared with each day to fill, with the number of days between the two.
  SELECT target.day AS target, basis_interval.day, abs(basis_interval.day - target.day) AS distance
  FROM target
  JOIN fill_slot ON fill_slot.day = target.day
  JOIN basis_interval
    ON basis_interval.clock = fill_slot.clock AND abs(basis_interval.day - target.day) <= $distance_days::INTEGER
  WHERE basis_interval.is_known AND (isodow(basis_interval.day) >= 6) = (isodow(target.day) >= 6)
    AND basis_interval.day NOT IN (SELECT day FROM target)
    AND basis_interval.day NOT IN (SELECT day FROM basis_interval WHERE is_corrected)
  GROUP BY target.day, target.slots, basis_interval.day
  HAVING count(DISTINCT fill_slot.start_ms) = target.slots
)
SELECT target, day FROM comparable
QUALIFY row_number() OVER (PARTITION BY target ORDER BY distance, day) <= $days_max::INTEGER;

-- name: list_chosen_days
-- Returns with which days each day is compared.
SELECT filled.day::VARCHAR AS target,
  coalesce(string_agg(chosen_day.day::VARCHAR, ',' ORDER BY chosen_day.day), '') AS days
FROM (SELECT DISTINCT day FROM fill_slot) AS filled LEFT JOIN chosen_day ON chosen_day.target = filled.day
GROUP BY filled.day ORDER BY filled.day;

-- name: list_median_values
-- Returns each interval as the median of the same quarter of an hour on the comparable days (Wh).
SELECT fill_slot.start_ms::DOUBLE AS start_ms, median(basis_interval.energy_wh)::DOUBLE AS energy_wh
FROM fill_slot
JOIN chosen_day ON chosen_day.target = fill_slot.day
JOIN basis_interval ON basis_interval.day = chosen_day.day AND basis_interval.clock = fill_slot.clock
GROUP BY fill_slot.start_ms ORDER BY fill_slot.start_ms;

-- name: find_ratio
-- Returns the energy of a device ($device) and source ($source) for each Wh of another ($like_device,
-- $like_source), as ratio, and the number of days. It is the median of the days that both have measured
-- fully, without corrections or contradictions, from $low_day to $high_day, without $from_day to $to_day.
SELECT median(own.energy_wh / other.energy_wh)::DOUBLE AS ratio, count(*)::DOUBLE AS days
FROM daily_energy AS own
JOIN daily_energy AS other USING (day)
WHERE own.device = $device::UUID AND own.source = $source AND other.device = $like_device::UUID
  AND other.source = $like_source
  AND day BETWEEN $low_day::DATE AND $high_day::DATE AND day NOT BETWEEN $from_day::DATE AND $to_day::DATE
  AND least(own.coverage, other.coverage) >= full_coverage_share()
  AND (own.flags | other.flags) & (flag('corrected') | flag('contradicted')) = 0 AND other.energy_wh > 0;

-- name: list_scaled_values
-- Returns each interval of the other source times $ratio (Wh); null if the other source has no measurement.
SELECT fill_slot.start_ms::DOUBLE AS start_ms,
  (CASE WHEN basis_interval.is_known THEN basis_interval.energy_wh * $ratio::DOUBLE END)::DOUBLE AS energy_wh
FROM fill_slot LEFT JOIN basis_interval ON basis_interval.start_ms = fill_slot.start_ms
ORDER BY fill_slot.start_ms;
