-- 22 Exclusions: readings that a correction excludes, or no longer excludes.
--
-- Reads   correction, excluded_range, series, series_rule, series_day, reading, excluded_reading.
-- Writes  chosen_device (the device of the correction), reading, excluded_reading (readings move between
--         them), incoming (the moved readings, as if they were new), series, series_day (what follows from
--         them).
-- Why     Excluded readings leave table reading, so no other chapter sees them. These statements run only in
--         the call that a new or an undone correction has for itself.

-- name: choose_corrected_device
-- Chooses the device of a correction ($correction_id), so that collect_rules finds its series.
-- chosen_device: device
CREATE OR REPLACE TEMP TABLE chosen_device AS
SELECT device FROM correction WHERE correction_id = $correction_id::BIGINT;

-- name: collect_moved_readings
-- Finds the readings in the time of a correction ($correction_id) that have to move between reading and
-- excluded_reading.
-- moved_reading:
--   columns of reading
--   is_excluded   now; false: the reading is used again
CREATE OR REPLACE TEMP TABLE moved_reading AS
WITH corrected_time AS (
  -- The time of the correction, for each series of its source.
  SELECT series.series_id, correction.from_ms, correction.to_ms
  FROM correction
  JOIN series USING (device, source)
  WHERE correction.correction_id = $correction_id::BIGINT
), used_now AS (
  -- The readings of this time that are used now.
  SELECT reading.* FROM reading JOIN corrected_time ON corrected_time.series_id = reading.series_id
  WHERE reading.event_time_ms >= corrected_time.from_ms AND reading.event_time_ms < corrected_time.to_ms
), excluded_now AS (
  -- The readings of this time that are excluded now.
  SELECT excluded_reading.*
  FROM excluded_reading JOIN corrected_time ON corrected_time.series_id = excluded_reading.series_id
  WHERE excluded_reading.event_time_ms >= corrected_time.from_ms
    AND excluded_reading.event_time_ms < corrected_time.to_ms
)
SELECT *, true AS is_excluded FROM used_now
SEMI JOIN excluded_range
  ON excluded_range.series_id = used_now.series_id AND used_now.event_time_ms >= excluded_range.from_ms
  AND used_now.event_time_ms < excluded_range.to_ms
UNION ALL BY NAME
SELECT *, false AS is_excluded FROM excluded_now
ANTI JOIN excluded_range
  ON excluded_range.series_id = excluded_now.series_id AND excluded_now.event_time_ms >= excluded_range.from_ms
  AND excluded_now.event_time_ms < excluded_range.to_ms;

-- name: store_moved_exclusions
-- Copies newly excluded readings to excluded_reading.
INSERT INTO excluded_reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM moved_reading WHERE is_excluded;

-- name: delete_moved_readings
-- Deletes newly excluded readings from reading.
DELETE FROM reading USING moved_reading
WHERE moved_reading.is_excluded AND reading.series_id = moved_reading.series_id
  AND reading.event_time_ms = moved_reading.event_time_ms;

-- name: restore_readings
-- Copies readings that are no longer excluded to reading.
INSERT INTO reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM moved_reading WHERE NOT is_excluded
ORDER BY event_time_ms, series_id;

-- name: delete_restored_exclusions
-- Deletes readings that are no longer excluded from excluded_reading.
DELETE FROM excluded_reading USING moved_reading
WHERE NOT moved_reading.is_excluded AND excluded_reading.series_id = moved_reading.series_id
  AND excluded_reading.event_time_ms = moved_reading.event_time_ms;

-- name: update_moved_bounds
-- Updates the first and last reading of the series whose readings have moved. They stay if a series has no
-- reading left.
UPDATE series SET first_ms = bounds.first_ms, last_ms = bounds.last_ms
FROM (
  SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms FROM reading
  WHERE series_id IN (SELECT series_id FROM moved_reading) GROUP BY series_id
) AS bounds
WHERE series.series_id = bounds.series_id AND (series.first_ms <> bounds.first_ms OR series.last_ms <> bounds.last_ms);

-- name: touch_moved_readings
-- Treats the moved readings as new readings. Adds the first and last reading of each day whose limits can
-- change, so that they are learnt again. $look_ahead: see collect_limits.
-- incoming:
--   series_id, event_time_ms
--   batch_id   -1, because nothing has landed
CREATE OR REPLACE TEMP TABLE incoming AS
WITH moved_range AS (
  -- The range of the moved readings of each series.
  SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms FROM moved_reading GROUP BY series_id
)
SELECT series_id, unnest([min(event_time_ms), max(event_time_ms)]) AS event_time_ms, -1::BIGINT AS batch_id
FROM (
  SELECT series_id, event_time_ms FROM moved_reading
  UNION ALL BY NAME
  SELECT reading.series_id, reading.event_time_ms
  FROM reading
  JOIN moved_range ON moved_range.series_id = reading.series_id
  JOIN series_rule ON series_rule.series_id = reading.series_id AND series_rule.learns
  WHERE reading.event_time_ms >= (utc_day(moved_range.from_ms) - $look_ahead::INTEGER) * day_ms()
    AND reading.event_time_ms < (utc_day(moved_range.to_ms) + limit_days()) * day_ms()
)
GROUP BY series_id, utc_day(event_time_ms);

-- name: delete_moved_limits
-- Deletes the limits of the days around moved readings that can change, as in touch_moved_readings.
-- $look_ahead: see collect_limits.
DELETE FROM series_day USING (
  SELECT series_id, utc_day(min(event_time_ms)) AS low_day, utc_day(max(event_time_ms)) AS high_day
  FROM moved_reading
  GROUP BY series_id
) AS moved
WHERE series_day.series_id = moved.series_id
  AND series_day.utc_day BETWEEN moved.low_day - $look_ahead::INTEGER AND moved.high_day + limit_days() - 1;

-- name: create_empty_incoming
-- Creates an empty table incoming, because no reading has moved.
CREATE OR REPLACE TEMP TABLE incoming (series_id INTEGER, event_time_ms BIGINT, batch_id BIGINT);

-- name: update_steps_after_correction
-- Updates the step and the resolution of the series from the days that are left.
UPDATE series SET step_ms = usual.step_ms, resolution = usual.resolution
FROM (
  SELECT series_id, max(learnt_step_ms) AS step_ms, arg_max(learnt_resolution, utc_day) AS resolution
  FROM series_day
  GROUP BY series_id
) AS usual
WHERE series.series_id = usual.series_id AND series.series_id IN (SELECT series_id FROM moved_reading);
