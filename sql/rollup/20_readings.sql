-- 20 Readings: one reading for each series and event time.
--
-- Reads   extracted, name, stream_setting, series; reading, known_reading, superseded_reading (the readings
--         that are stored already); correction_in_force, excluded_range.
-- Writes  series (one energy stream of one device and source), reading (the readings that are used),
--         superseded_reading (valid readings that are not used, because another reading of the same series
--         and time is), excluded_reading (readings that a correction excludes), incoming_series, incoming
--         (the new readings that are used); extracted, series_quarter, series_day, interval_energy (if a
--         stored reading is not valid any more).
-- Why     A device can send a reading twice or revise it. The used reading must not depend on the order of
--         arrival. So the reading with the highest message id is used, then the one with the highest offset.

-- name: find_invalid_stored
-- Finds stored readings that an earlier version accepted and this version rejects: their value is out of
-- range, or their time is impossible. $now_ms: the current time.
-- invalid_stored:
--   series_id, event_time_ms, value, reason, stream_offset, batch_id
--   is_superseded   the reading was not used
CREATE OR REPLACE TEMP TABLE invalid_stored AS
SELECT r.series_id, r.event_time_ms, r.value, r.stream_offset, r.batch_id, r.is_superseded,
  CASE WHEN r.event_time_ms > $now_ms::BIGINT + day_ms() + future_ms() THEN 'future' WHEN r.event_time_ms < clock_set_ms() THEN 'clock_not_set'
    WHEN NOT isfinite(r.value) THEN 'not_finite' ELSE 'out_of_range' END AS reason
FROM (
  FROM (SELECT *, false AS is_superseded FROM reading UNION ALL BY NAME SELECT *, true AS is_superseded FROM superseded_reading)
  -- This condition is weaker than the one below, but it is on the columns alone. DuckDB knows their smallest
  -- and largest values, and mostly reads nothing.
  WHERE value > least_value_max() OR value < -least_value_max()
    OR event_time_ms < clock_set_ms() OR event_time_ms > $now_ms::BIGINT + day_ms() + future_ms()
) AS r
JOIN series s USING (series_id)
JOIN stream_setting t USING (stream_id)
WHERE NOT isfinite(r.value) OR abs(r.value) > value_max(t.method)
  OR r.event_time_ms < clock_set_ms() OR r.event_time_ms > $now_ms::BIGINT + day_ms() + future_ms();

-- name: reject_invalid_stored
-- Adds the readings of invalid_stored to the rejected readings of the new messages.
INSERT INTO extracted (stream_id, device, source_id, event_time_ms, value, reason, "text", stream_offset, batch_id)
SELECT s.stream_id, s.device, coalesce((SELECT min(name_id) FROM name WHERE name = s.source), -1), b.event_time_ms, NULL, b.reason, b.value::VARCHAR,
  b.stream_offset, b.batch_id
FROM invalid_stored b JOIN series s USING (series_id);

-- name: delete_invalid_readings
-- Deletes the readings of invalid_stored from reading.
DELETE FROM reading USING invalid_stored b
WHERE reading.series_id = b.series_id AND reading.event_time_ms = b.event_time_ms AND NOT b.is_superseded;

-- name: delete_invalid_superseded
-- Deletes the readings of invalid_stored that were not used from superseded_reading.
DELETE FROM superseded_reading USING invalid_stored b
WHERE superseded_reading.series_id = b.series_id AND superseded_reading.event_time_ms = b.event_time_ms AND b.is_superseded
  AND superseded_reading.value IS NOT DISTINCT FROM b.value;

-- name: find_successors
-- Finds the reading that is used instead of a deleted one: the best of the superseded readings of the same
-- series and time.
-- successor_reading: columns of superseded_reading
CREATE OR REPLACE TEMP TABLE successor_reading AS
SELECT r.series_id, r.event_time_ms, r.value, r.message_id, r.stream_offset, r.batch_id
FROM superseded_reading r
JOIN invalid_stored b ON b.series_id = r.series_id AND b.event_time_ms = r.event_time_ms AND NOT b.is_superseded
QUALIFY row_number() OVER (
  PARTITION BY r.series_id, r.event_time_ms ORDER BY reading_rank(r.message_id, r.stream_offset, r.batch_id, r.value) DESC
) = 1;

-- name: store_successors
-- Adds the successors to reading.
INSERT INTO reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM successor_reading;

-- name: delete_used_successors
-- Deletes the successors from superseded_reading.
DELETE FROM superseded_reading USING successor_reading i
WHERE superseded_reading.series_id = i.series_id AND superseded_reading.event_time_ms = i.event_time_ms
  AND superseded_reading.stream_offset IS NOT DISTINCT FROM i.stream_offset AND superseded_reading.batch_id = i.batch_id;

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
UPDATE series SET first_ms = coalesce(k.first_ms, least(series.first_ms, $now_ms::BIGINT)),
  last_ms = coalesce(k.last_ms, least(series.last_ms, $now_ms::BIGINT))
FROM (
  SELECT b.series_id, min(r.event_time_ms) AS first_ms, max(r.event_time_ms) AS last_ms
  FROM (SELECT DISTINCT series_id FROM invalid_stored) AS b LEFT JOIN reading r USING (series_id)
  GROUP BY b.series_id
) AS k
WHERE series.series_id = k.series_id;

-- name: find_series
-- Groups the new readings by series, as messages name it.
-- incoming_series:
--   stream_id, device, source_id, readings, first_ms, last_ms, source
--   series_id   null: the series is new
--   widens      the new readings begin before the first stored one, or end after the last one
CREATE OR REPLACE TEMP TABLE incoming_series AS
SELECT k.*, s.series_id, coalesce(k.first_ms < s.first_ms OR k.last_ms > s.last_ms, false) AS widens
FROM (
  SELECT k.*, coalesce(t.as_source, n.name, 'default') AS source
  FROM (
    SELECT stream_id, device, source_id, count(*) AS readings, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms
    FROM extracted WHERE reason IS NULL GROUP BY stream_id, device, source_id
  ) AS k
  JOIN stream_setting t USING (stream_id)
  LEFT JOIN name n ON n.name_id = k.source_id
) AS k
LEFT JOIN series s ON s.stream_id = k.stream_id AND s.device = k.device AND s.source = k.source;

-- name: describe_incoming
-- Returns one row about the valid new readings.
-- Columns:
--   readings          how many
--   low_ms, high_ms   their first and last event time; null if there are none
--   has_new_series    some of their series are not stored yet
--   widens_series     the first or last reading time of some series moves
SELECT coalesce(sum(readings), 0)::BIGINT AS readings, min(first_ms) AS low_ms, max(last_ms) AS high_ms,
  coalesce(bool_or(series_id IS NULL), false) AS has_new_series, coalesce(bool_or(widens), false) AS widens_series
FROM incoming_series;

-- name: add_series
-- Stores the new series.
INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
SELECT
  (SELECT coalesce(max(series_id), 0) FROM series) + row_number() OVER (ORDER BY stream_id, device, source),
  stream_id, device, source, min(first_ms), max(last_ms)
FROM incoming_series
WHERE series_id IS NULL
GROUP BY stream_id, device, source;

-- name: find_incoming
-- Selects the valid new readings. If several have the same series and time, drop_repetitions keeps only one
-- of them.
-- incoming: series_id, event_time_ms, value, message_id, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT k.series_id, e.event_time_ms, e.value, e.message_id, e.stream_offset, e.batch_id
FROM extracted e
JOIN incoming_series k ON k.stream_id = e.stream_id AND k.device = e.device AND k.source_id = e.source_id
WHERE e.reason IS NULL;

-- name: find_repetitions
-- Ranks the new readings that have the same series and event time.
-- repeated_reading:
--   row          rowid in incoming
--   series_id, event_time_ms, value, message_id, stream_offset, batch_id
--   preference   1: is used
CREATE OR REPLACE TEMP TABLE repeated_reading AS
SELECT i.rowid AS row, i.*,
  row_number() OVER (
    PARTITION BY series_id, event_time_ms ORDER BY reading_rank(i.message_id, i.stream_offset, i.batch_id, i.value) DESC
  ) AS preference
FROM incoming i
JOIN (SELECT series_id, event_time_ms FROM incoming GROUP BY series_id, event_time_ms HAVING count(*) > 1) AS r USING (series_id, event_time_ms);

-- name: drop_repetitions
-- Keeps the best reading of each time in incoming.
DELETE FROM incoming WHERE rowid IN (SELECT row FROM repeated_reading WHERE preference > 1);

-- name: store_repetitions
-- Stores the repetitions that are not used, so that explain can show them.
INSERT INTO superseded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM repeated_reading WHERE preference > 1;

-- name: find_superseded
-- Compares each new reading with the stored reading of the same series and time. One of the two is used: the
-- one with the higher message id. If the message ids are equal, the same value again changes nothing; of
-- different values the one with the higher offset is used, then the one of the later batch. If a stored value
-- comes again, it gets the offset and batch of the repetition, because a different value can have come
-- between the two.
-- The stored readings include the excluded ones, so that exclusions do not influence which reading is used.
-- $low_ms, $high_ms: event times of incoming, so that only stored readings of that time are read.
-- superseded_now:
--   series_id, event_time_ms
--   value, message_id, stream_offset, batch_id   of the reading that is not used
--   is_new                                       the value of the stored reading is used
--   counts_offset, counts_batch                  of the repetition; null if the stored value did not come
--                                                again
CREATE OR REPLACE TEMP TABLE superseded_now AS
SELECT series_id, event_time_ms, unnest(CASE WHEN is_new AND NOT is_repetition THEN incoming ELSE stored END), is_new,
  CASE WHEN is_repetition THEN incoming.stream_offset END AS counts_offset, CASE WHEN is_repetition THEN incoming.batch_id END AS counts_batch
FROM (
  SELECT i.series_id, i.event_time_ms,
    r.message_id IS NOT DISTINCT FROM i.message_id AND r.value = i.value
      AND coalesce(i.stream_offset, 0) > coalesce(r.stream_offset, 0) AS is_repetition,
    CASE WHEN r.message_id IS DISTINCT FROM i.message_id THEN coalesce(r.message_id, -1) > coalesce(i.message_id, -1)
      ELSE r.value = i.value OR (coalesce(r.stream_offset, 0), r.batch_id) > (coalesce(i.stream_offset, 0), i.batch_id) END AS is_new,
    {value: i.value, message_id: i.message_id, stream_offset: i.stream_offset, batch_id: i.batch_id} AS incoming,
    {value: r.value, message_id: r.message_id, stream_offset: r.stream_offset, batch_id: r.batch_id} AS stored
  FROM incoming i
  JOIN known_reading r ON r.series_id = i.series_id AND r.event_time_ms = i.event_time_ms
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
);

-- name: store_superseded
-- Stores the readings of superseded_now, which are not used, so that explain can show them.
INSERT INTO superseded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM superseded_now;

-- name: update_repeated_reading
-- Gives stored values that came again the offset and batch of the repetition. $low_ms, $high_ms: as in
-- find_superseded.
UPDATE reading SET stream_offset = s.counts_offset, batch_id = s.counts_batch
FROM superseded_now s
WHERE s.counts_batch IS NOT NULL AND reading.series_id = s.series_id AND reading.event_time_ms = s.event_time_ms
  AND reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: update_repeated_exclusion
-- Gives excluded readings whose value came again the offset and batch of the repetition. $low_ms, $high_ms:
-- as in find_superseded.
UPDATE excluded_reading SET stream_offset = s.counts_offset, batch_id = s.counts_batch
FROM superseded_now s
WHERE s.counts_batch IS NOT NULL AND excluded_reading.series_id = s.series_id AND excluded_reading.event_time_ms = s.event_time_ms
  AND excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: drop_losing_incoming
-- Drops the new readings that are not used (superseded_now) from incoming.
DELETE FROM incoming USING superseded_now s
WHERE s.is_new AND incoming.series_id = s.series_id AND incoming.event_time_ms = s.event_time_ms;

-- name: delete_replaced_readings
-- Deletes the stored readings that a new reading replaces. $low_ms, $high_ms: as in find_superseded.
DELETE FROM reading USING superseded_now s
WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT s.is_new AND reading.series_id = s.series_id AND reading.event_time_ms = s.event_time_ms;

-- name: count_exclusions
-- Returns the number of corrections that exclude readings. If there are none, the statements about excluded
-- readings do not run.
SELECT count(*) AS count FROM correction_in_force WHERE kind = 'exclude';

-- name: delete_replaced_exclusions
-- Deletes the excluded readings that a new reading replaces. $low_ms, $high_ms: as in find_superseded.
DELETE FROM excluded_reading USING superseded_now s
WHERE excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT s.is_new AND excluded_reading.series_id = s.series_id AND excluded_reading.event_time_ms = s.event_time_ms;

-- name: store_incoming_exclusions
-- Moves new readings of an excluded time to excluded_reading.
INSERT INTO excluded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming i
SEMI JOIN excluded_range x ON x.series_id = i.series_id AND i.event_time_ms >= x.from_ms AND i.event_time_ms < x.to_ms;

-- name: drop_incoming_exclusions
-- Drops new readings of an excluded time from incoming, so that no later chapter sees them.
DELETE FROM incoming USING excluded_range x
WHERE incoming.series_id = x.series_id AND incoming.event_time_ms >= x.from_ms AND incoming.event_time_ms < x.to_ms;

-- name: update_excluded_bounds
-- Updates the first and last used reading of the new readings' series, if some of their readings are
-- excluded.
UPDATE series SET first_ms = r.first_ms, last_ms = r.last_ms
FROM (
  SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms
  FROM reading
  WHERE series_id IN (
    SELECT x.series_id FROM excluded_range x JOIN series s USING (series_id)
    JOIN incoming_series k ON k.stream_id = s.stream_id AND k.device = s.device)
  GROUP BY series_id
) AS r
WHERE series.series_id = r.series_id AND (series.first_ms <> r.first_ms OR series.last_ms <> r.last_ms);

-- name: store_readings
-- Stores the new readings in the order of time, so that a later scan of a time range reads few row groups.
INSERT INTO reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming
ORDER BY event_time_ms, series_id;

-- name: update_series_bounds
-- Moves the first and last reading time of the series outwards.
UPDATE series
SET first_ms = least(series.first_ms, k.first_ms), last_ms = greatest(series.last_ms, k.last_ms)
FROM (SELECT series_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM incoming_series WHERE widens GROUP BY series_id) AS k
WHERE series.series_id = k.series_id;
