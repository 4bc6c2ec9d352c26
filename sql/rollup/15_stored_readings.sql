-- 15 Stored readings: readings that an earlier version accepted and this one rejects.
--
-- Reads   reading, superseded_reading, series, stream_setting, name.
-- Writes  extracted (these readings, as if they had just been rejected), reading, superseded_reading
--         (without them); series_quarter, series_day, interval_energy (without what follows from them),
--         series.
-- Why     Later chapters rely on chapter 10, also for readings that were stored before its rules.

-- name: collect_invalid_stored
-- Finds stored readings that an earlier version accepted and this version rejects: their value is out of
-- range, or their time is impossible. $now_ms: the current time.
-- invalid_stored:
--   series_id, event_time_ms, value, reason, stream_offset, batch_id
--   is_superseded   the reading was not used
CREATE OR REPLACE TEMP TABLE invalid_stored AS
WITH suspect AS (
  -- The readings that may be invalid. The conditions are on the columns alone, because DuckDB knows the
  -- smallest and largest values of these, and mostly reads nothing.
  FROM (
    SELECT *, false AS is_superseded FROM reading
    UNION ALL BY NAME
    SELECT *, true AS is_superseded FROM superseded_reading
  )
  WHERE value > least_value_max() OR value < -least_value_max()
    OR event_time_ms < clock_set_ms() OR event_time_ms > $now_ms::BIGINT + day_ms() + future_ms()
), checked AS (
  -- These readings, with the reason to reject each of them; null: valid.
  SELECT suspect.series_id, suspect.event_time_ms, suspect.value, suspect.stream_offset, suspect.batch_id,
    suspect.is_superseded,
    CASE
      WHEN suspect.event_time_ms > $now_ms::BIGINT + day_ms() + future_ms() THEN 'future'
      WHEN suspect.event_time_ms < clock_set_ms() THEN 'clock_not_set'
      WHEN NOT isfinite(suspect.value) THEN 'not_finite'
      WHEN abs(suspect.value) > value_max(stream_setting.method) THEN 'out_of_range'
    END AS reason
  FROM suspect
  JOIN series USING (series_id)
  JOIN stream_setting USING (stream_id)
)
FROM checked WHERE reason IS NOT NULL;

-- name: reject_invalid_stored
-- Adds the readings of invalid_stored to the rejected readings of the new messages.
INSERT INTO extracted BY NAME
SELECT series.stream_id, series.device,
  coalesce((SELECT min(name_id) FROM name WHERE name = series.source), -1) AS source_id,
  invalid_stored.event_time_ms, NULL AS value, invalid_stored.reason, invalid_stored.value::VARCHAR AS "text",
  invalid_stored.stream_offset, invalid_stored.batch_id
FROM invalid_stored JOIN series USING (series_id);

-- name: delete_invalid_readings
-- Deletes the readings of invalid_stored from reading.
DELETE FROM reading USING invalid_stored
WHERE reading.series_id = invalid_stored.series_id AND reading.event_time_ms = invalid_stored.event_time_ms
  AND NOT invalid_stored.is_superseded;

-- name: delete_invalid_superseded
-- Deletes the readings of invalid_stored that were not used from superseded_reading.
DELETE FROM superseded_reading USING invalid_stored
WHERE superseded_reading.series_id = invalid_stored.series_id
  AND superseded_reading.event_time_ms = invalid_stored.event_time_ms
  AND invalid_stored.is_superseded
  AND superseded_reading.value IS NOT DISTINCT FROM invalid_stored.value;

-- name: collect_successors
-- Finds the reading that is used instead of a deleted one: the best of the superseded readings of the same
-- series and time.
-- successor_reading: columns of superseded_reading
CREATE OR REPLACE TEMP TABLE successor_reading AS
SELECT superseded_reading.series_id, superseded_reading.event_time_ms, superseded_reading.value,
  superseded_reading.message_id, superseded_reading.stream_offset, superseded_reading.batch_id
FROM superseded_reading
JOIN invalid_stored
  ON invalid_stored.series_id = superseded_reading.series_id
  AND invalid_stored.event_time_ms = superseded_reading.event_time_ms AND NOT invalid_stored.is_superseded
QUALIFY row_number() OVER (
  PARTITION BY superseded_reading.series_id, superseded_reading.event_time_ms
  ORDER BY reading_rank(superseded_reading.message_id, superseded_reading.stream_offset, superseded_reading.batch_id,
    superseded_reading.value) DESC
) = 1;

-- name: store_successors
-- Adds the successors to reading.
INSERT INTO reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM successor_reading;

-- name: delete_used_successors
-- Deletes the successors from superseded_reading.
DELETE FROM superseded_reading USING successor_reading
WHERE superseded_reading.series_id = successor_reading.series_id
  AND superseded_reading.event_time_ms = successor_reading.event_time_ms
  AND superseded_reading.stream_offset IS NOT DISTINCT FROM successor_reading.stream_offset
  AND superseded_reading.batch_id = successor_reading.batch_id;

-- name: delete_invalid_quarters
-- Deletes the quarters of the series of invalid_stored, because they were learnt with invalid readings.
DELETE FROM series_quarter WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: delete_invalid_days
-- Deletes the learnt days of the series of invalid_stored.
DELETE FROM series_day WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: delete_invalid_intervals
-- Deletes all intervals of the series of invalid_stored. They are computed again. Some of them may be at a
-- time without any reading now.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: update_invalid_bounds
-- Updates the first and the last reading time of the series of invalid_stored. $now_ms: the current time.
UPDATE series SET first_ms = coalesce(bounds.first_ms, least(series.first_ms, $now_ms::BIGINT)),
  last_ms = coalesce(bounds.last_ms, least(series.last_ms, $now_ms::BIGINT))
FROM (
  SELECT invalid_series.series_id, min(reading.event_time_ms) AS first_ms, max(reading.event_time_ms) AS last_ms
  FROM (SELECT DISTINCT series_id FROM invalid_stored) AS invalid_series LEFT JOIN reading USING (series_id)
  GROUP BY invalid_series.series_id
) AS bounds
WHERE series.series_id = bounds.series_id;
