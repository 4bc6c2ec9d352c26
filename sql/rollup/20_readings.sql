-- 20 Readings: one reading for each series and event time.
--
-- Reads   extracted, name, stream_setting, series; reading, known_reading (the readings that are stored
--         already); correction_in_force, excluded_range.
-- Writes  series (one energy stream of one device and source), reading (the readings that are used),
--         superseded_reading (valid readings that are not used, because another reading of the same series
--         and time is), excluded_reading (readings that a correction excludes), incoming_series, incoming
--         (the new readings that are used).
-- Why     A device can send a reading twice or revise it. The used reading must not depend on the order of
--         arrival. So the reading with the highest message id is used, then the one with the highest offset.

-- name: collect_series
-- Groups the new readings by series, as messages name it.
-- incoming_series:
--   stream_id, device, source_id, readings, first_ms, last_ms, source
--   series_id   null: the series is new
--   widens      the new readings begin before the first stored one, or end after the last one
CREATE OR REPLACE TEMP TABLE incoming_series AS
WITH counted AS (
  -- The valid new readings, counted by stream, device and source.
  SELECT stream_id, device, source_id, count(*) AS readings, min(event_time_ms) AS first_ms,
    max(event_time_ms) AS last_ms
  FROM extracted WHERE reason IS NULL GROUP BY stream_id, device, source_id
), named AS (
  -- These rows, with the name of the source.
  SELECT counted.*, coalesce(stream_setting.as_source, name.name, 'default') AS source
  FROM counted
  JOIN stream_setting USING (stream_id)
  LEFT JOIN name ON name.name_id = counted.source_id
)
SELECT named.*, series.series_id,
  coalesce(named.first_ms < series.first_ms OR named.last_ms > series.last_ms, false) AS widens
FROM named
LEFT JOIN series
  ON series.stream_id = named.stream_id AND series.device = named.device AND series.source = named.source;

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
INSERT INTO series BY NAME
SELECT
  (SELECT coalesce(max(series_id), 0) FROM series)
    + row_number() OVER (ORDER BY stream_id, device, source) AS series_id,
  stream_id, device, source, min(first_ms) AS first_ms, max(last_ms) AS last_ms
FROM incoming_series
WHERE series_id IS NULL
GROUP BY stream_id, device, source;

-- name: collect_incoming
-- Selects the valid new readings. If several have the same series and time, drop_repetitions keeps only one
-- of them.
-- incoming: series_id, event_time_ms, value, message_id, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT incoming_series.series_id, extracted.event_time_ms, extracted.value, extracted.message_id,
  extracted.stream_offset, extracted.batch_id
FROM extracted
JOIN incoming_series
  ON incoming_series.stream_id = extracted.stream_id AND incoming_series.device = extracted.device
  AND incoming_series.source_id = extracted.source_id
WHERE extracted.reason IS NULL;

-- name: collect_repetitions
-- Ranks the new readings that have the same series and event time.
-- repeated_reading:
--   row          rowid in incoming
--   series_id, event_time_ms, value, message_id, stream_offset, batch_id
--   preference   1: is used
CREATE OR REPLACE TEMP TABLE repeated_reading AS
SELECT incoming.rowid AS row, incoming.*,
  row_number() OVER (
    PARTITION BY series_id, event_time_ms
    ORDER BY reading_rank(incoming.message_id, incoming.stream_offset, incoming.batch_id, incoming.value) DESC
  ) AS preference
FROM incoming
JOIN (SELECT series_id, event_time_ms FROM incoming GROUP BY series_id, event_time_ms HAVING count(*) > 1) AS repeated
  USING (series_id, event_time_ms);

-- name: drop_repetitions
-- Keeps the best reading of each time in incoming.
DELETE FROM incoming WHERE rowid IN (SELECT row FROM repeated_reading WHERE preference > 1);

-- name: store_repetitions
-- Stores the repetitions that are not used, so that explain can show them.
INSERT INTO superseded_reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM repeated_reading WHERE preference > 1;

-- name: collect_superseded
-- Compares each new reading with the stored reading of the same series and time. The one with the higher rank
-- is used. A repetition has the message id and the value of the stored reading. Then the stored reading is
-- used, so that nothing is computed again. If the repetition has a higher offset, the stored reading gets its
-- offset and batch, because a different value can have come between the two.
-- The stored readings include the excluded ones, so that exclusions do not influence which reading is used.
-- $low_ms, $high_ms: event times of incoming, so that only stored readings of that time are read.
-- superseded_now:
--   series_id, event_time_ms
--   value, message_id, stream_offset, batch_id   of the reading that is not used
--   stored_wins                                  the stored reading is used
--   new_offset, new_batch_id                     of the repetition; null if the stored reading keeps its own
CREATE OR REPLACE TEMP TABLE superseded_now AS
WITH compared AS (
  -- The new readings whose series and time have a stored reading. updates_stored: the stored reading gets the
  -- offset and batch of the repetition.
  SELECT incoming.series_id, incoming.event_time_ms,
    known_reading.message_id IS NOT DISTINCT FROM incoming.message_id
      AND known_reading.value = incoming.value AS is_repetition,
    is_repetition
      AND coalesce(incoming.stream_offset, 0) > coalesce(known_reading.stream_offset, 0) AS updates_stored,
    is_repetition
      OR reading_rank(
        known_reading.message_id, known_reading.stream_offset, known_reading.batch_id, known_reading.value
      ) > reading_rank(incoming.message_id, incoming.stream_offset, incoming.batch_id, incoming.value) AS stored_wins,
    {value: incoming.value, message_id: incoming.message_id, stream_offset: incoming.stream_offset,
      batch_id: incoming.batch_id} AS arrived,
    {value: known_reading.value, message_id: known_reading.message_id, stream_offset: known_reading.stream_offset,
      batch_id: known_reading.batch_id} AS stored
  FROM incoming
  JOIN known_reading
    ON known_reading.series_id = incoming.series_id AND known_reading.event_time_ms = incoming.event_time_ms
  WHERE known_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
)
SELECT series_id, event_time_ms, unnest(CASE WHEN stored_wins AND NOT updates_stored THEN arrived ELSE stored END),
  stored_wins,
  CASE WHEN updates_stored THEN arrived.stream_offset END AS new_offset,
  CASE WHEN updates_stored THEN arrived.batch_id END AS new_batch_id
FROM compared;

-- name: store_superseded
-- Stores the readings of superseded_now, which are not used, so that explain can show them.
INSERT INTO superseded_reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM superseded_now;

-- name: update_repeated_reading
-- Gives stored values that came again the offset and batch of the repetition. $low_ms, $high_ms: as in
-- collect_superseded.
UPDATE reading SET stream_offset = superseded_now.new_offset, batch_id = superseded_now.new_batch_id
FROM superseded_now
WHERE superseded_now.new_batch_id IS NOT NULL AND reading.series_id = superseded_now.series_id
  AND reading.event_time_ms = superseded_now.event_time_ms
  AND reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: update_repeated_exclusion
-- Gives excluded readings whose value came again the offset and batch of the repetition. $low_ms, $high_ms:
-- as in collect_superseded.
UPDATE excluded_reading SET stream_offset = superseded_now.new_offset, batch_id = superseded_now.new_batch_id
FROM superseded_now
WHERE superseded_now.new_batch_id IS NOT NULL AND excluded_reading.series_id = superseded_now.series_id
  AND excluded_reading.event_time_ms = superseded_now.event_time_ms
  AND excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: drop_losing_incoming
-- Drops the new readings that are not used (superseded_now) from incoming.
DELETE FROM incoming USING superseded_now
WHERE superseded_now.stored_wins AND incoming.series_id = superseded_now.series_id
  AND incoming.event_time_ms = superseded_now.event_time_ms;

-- name: delete_replaced_readings
-- Deletes the stored readings that a new reading replaces. $low_ms, $high_ms: as in collect_superseded.
DELETE FROM reading USING superseded_now
WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT superseded_now.stored_wins AND reading.series_id = superseded_now.series_id
  AND reading.event_time_ms = superseded_now.event_time_ms;

-- name: count_exclusions
-- Returns the number of corrections that exclude readings. If there are none, the statements about excluded
-- readings do not run.
SELECT count(*) AS count FROM correction_in_force WHERE kind = 'exclude';

-- name: delete_replaced_exclusions
-- Deletes the excluded readings that a new reading replaces. $low_ms, $high_ms: as in collect_superseded.
DELETE FROM excluded_reading USING superseded_now
WHERE excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT superseded_now.stored_wins AND excluded_reading.series_id = superseded_now.series_id
  AND excluded_reading.event_time_ms = superseded_now.event_time_ms;

-- name: store_incoming_exclusions
-- Moves new readings of an excluded time to excluded_reading.
INSERT INTO excluded_reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming
SEMI JOIN excluded_range
  ON excluded_range.series_id = incoming.series_id AND incoming.event_time_ms >= excluded_range.from_ms
  AND incoming.event_time_ms < excluded_range.to_ms;

-- name: drop_incoming_exclusions
-- Drops new readings of an excluded time from incoming, so that no later chapter sees them.
DELETE FROM incoming USING excluded_range
WHERE incoming.series_id = excluded_range.series_id AND incoming.event_time_ms >= excluded_range.from_ms
  AND incoming.event_time_ms < excluded_range.to_ms;

-- name: update_excluded_bounds
-- Updates the first and last used reading of the new readings' series, if some of their readings are
-- excluded.
UPDATE series SET first_ms = bounds.first_ms, last_ms = bounds.last_ms
FROM (
  SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms
  FROM reading
  WHERE series_id IN (
    SELECT excluded_range.series_id FROM excluded_range JOIN series USING (series_id)
    JOIN incoming_series ON incoming_series.stream_id = series.stream_id AND incoming_series.device = series.device)
  GROUP BY series_id
) AS bounds
WHERE series.series_id = bounds.series_id AND (series.first_ms <> bounds.first_ms OR series.last_ms <> bounds.last_ms);

-- name: store_readings
-- Stores the new readings in the order of time, so that a later scan of a time range reads few row groups.
INSERT INTO reading BY NAME
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming
ORDER BY event_time_ms, series_id;

-- name: update_series_bounds
-- Moves the first and last reading time of the series outwards.
UPDATE series
SET first_ms = least(series.first_ms, bounds.first_ms), last_ms = greatest(series.last_ms, bounds.last_ms)
FROM (
  SELECT series_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms
  FROM incoming_series
  WHERE widens
  GROUP BY series_id
) AS bounds
WHERE series.series_id = bounds.series_id;
