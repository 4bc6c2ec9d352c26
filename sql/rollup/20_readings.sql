-- 20 Readings: one for each series and event time.
--
-- Reads   extracted.
-- Writes  series (a stream of a device and source), reading (the readings that count), superseded_reading (the readings that do not,
--         because another one of the same series and event time does), excluded_reading (the readings that a correction excludes), incoming (the
--         new readings that count).
-- Why     A device may send a reading twice, or revise it. Which one counts must not depend on which came first: the one with the highest
--         message id counts, then the one with the highest offset.

-- name: find_invalid_stored
-- Readings that an earlier version took in and this one would reject: beyond the range of their method, or at a time that cannot be. $now_ms: now.
-- beyond: series_id, event_time_ms, value, reason, stream_offset, batch_id, is_superseded (they did not count)
CREATE OR REPLACE TEMP TABLE invalid_stored AS
SELECT r.series_id, r.event_time_ms, r.value, r.stream_offset, r.batch_id, r.is_superseded,
  CASE WHEN r.event_time_ms > $now_ms::BIGINT + day_ms() + future_ms() THEN 'future' WHEN r.event_time_ms < clock_set_ms() THEN 'clock_not_set'
    WHEN NOT isfinite(r.value) THEN 'not_finite' ELSE 'out_of_range' END AS reason
FROM (
  FROM (SELECT *, false AS is_superseded FROM reading UNION ALL BY NAME SELECT *, true AS is_superseded FROM superseded_reading)
  -- Without what every method takes: DuckDB mostly sees by the least and the largest value of a column that nothing is left, and reads nothing.
  WHERE value > least_value_max() OR value < -least_value_max()
    OR event_time_ms < clock_set_ms() OR event_time_ms > $now_ms::BIGINT + day_ms() + future_ms()
) AS r
JOIN series s USING (series_id)
JOIN stream_setting t USING (stream_id)
WHERE NOT isfinite(r.value) OR abs(r.value) > value_max(t.method)
  OR r.event_time_ms < clock_set_ms() OR r.event_time_ms > $now_ms::BIGINT + day_ms() + future_ms();

-- name: reject_invalid_stored
-- They are rejected with those of the new messages.
INSERT INTO extracted (stream_id, device, source_id, event_time_ms, value, reason, "text", stream_offset, batch_id)
SELECT s.stream_id, s.device, coalesce((SELECT min(name_id) FROM name WHERE name = s.source), -1), b.event_time_ms, NULL, b.reason, b.value::VARCHAR,
  b.stream_offset, b.batch_id
FROM invalid_stored b JOIN series s USING (series_id);

-- name: delete_invalid_readings
DELETE FROM reading USING invalid_stored b
WHERE reading.series_id = b.series_id AND reading.event_time_ms = b.event_time_ms AND NOT b.is_superseded;

-- name: delete_invalid_superseded
DELETE FROM superseded_reading USING invalid_stored b
WHERE superseded_reading.series_id = b.series_id AND superseded_reading.event_time_ms = b.event_time_ms AND b.is_superseded
  AND superseded_reading.value IS NOT DISTINCT FROM b.value;

-- name: find_successors
-- What counts instead of a reading that is gone: of the others of the same series and event time the one that comes first.
-- instead: columns of superseded_reading
CREATE OR REPLACE TEMP TABLE successor_reading AS
SELECT r.series_id, r.event_time_ms, r.value, r.message_id, r.stream_offset, r.batch_id
FROM superseded_reading r
JOIN invalid_stored b ON b.series_id = r.series_id AND b.event_time_ms = r.event_time_ms AND NOT b.is_superseded
QUALIFY row_number() OVER (
  PARTITION BY r.series_id, r.event_time_ms ORDER BY coalesce(r.message_id, -1) DESC, coalesce(r.stream_offset, 0) DESC, r.batch_id DESC, r.value DESC
) = 1;

-- name: store_successors
INSERT INTO reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM successor_reading;

-- name: delete_used_successors
DELETE FROM superseded_reading USING successor_reading i
WHERE superseded_reading.series_id = i.series_id AND superseded_reading.event_time_ms = i.event_time_ms
  AND superseded_reading.stream_offset IS NOT DISTINCT FROM i.stream_offset AND superseded_reading.batch_id = i.batch_id;

-- name: delete_invalid_quarters
-- Nothing stays of what was learnt from them.
DELETE FROM series_quarter WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: delete_invalid_days
DELETE FROM series_day WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: delete_invalid_intervals
-- All their intervals are computed anew; some may lie where no reading is any more.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM invalid_stored);

-- name: update_invalid_bounds
-- The first and the last reading time of what is left of them.
UPDATE series SET first_ms = coalesce(k.first_ms, least(series.first_ms, $now_ms::BIGINT)), last_ms = coalesce(k.last_ms, least(series.last_ms, $now_ms::BIGINT))
FROM (
  SELECT b.series_id, min(r.event_time_ms) AS first_ms, max(r.event_time_ms) AS last_ms
  FROM (SELECT DISTINCT series_id FROM invalid_stored) AS b LEFT JOIN reading r USING (series_id)
  GROUP BY b.series_id
) AS k
WHERE series.series_id = k.series_id;

-- name: find_series
-- series_key: the series of the new readings as messages name them: stream_id, device, source_id, readings, first_ms, last_ms, source, series_id (null: it
-- appears for the first time), extends (the new readings begin before its first one or end after its last one)
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
-- Returns readings: how many new readings count, low_ms, high_ms: their event times, appear: there are series that are not registered, extend: there
-- are series whose first or last reading time moves.
SELECT coalesce(sum(readings), 0)::BIGINT AS readings, min(first_ms) AS low_ms, max(last_ms) AS high_ms,
  coalesce(bool_or(series_id IS NULL), false) AS has_new_series, coalesce(bool_or(widens), false) AS widens_series
FROM incoming_series;

-- name: add_series
-- Registers the series that appear for the first time.
INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
SELECT
  (SELECT coalesce(max(series_id), 0) FROM series) + row_number() OVER (ORDER BY stream_id, device, source),
  stream_id, device, source, min(first_ms), max(last_ms)
FROM incoming_series
WHERE series_id IS NULL
GROUP BY stream_id, device, source;

-- name: find_incoming
-- The new readings that are valid; of those that share their series and time all but one go with drop_repetitions.
-- incoming: series_id, event_time_ms, value, message_id, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT k.series_id, e.event_time_ms, e.value, e.message_id, e.stream_offset, e.batch_id
FROM extracted e
JOIN incoming_series k ON k.stream_id = e.stream_id AND k.device = e.device AND k.source_id = e.source_id
WHERE e.reason IS NULL;

-- name: find_repetitions
-- repeated: new readings that share their series and event time: row (in incoming), series_id, event_time_ms, value, message_id, stream_offset, batch_id,
-- place (1: counts)
CREATE OR REPLACE TEMP TABLE repeated_reading AS
SELECT i.rowid AS row, i.*,
  row_number() OVER (
    PARTITION BY series_id, event_time_ms
    ORDER BY coalesce(i.message_id, -1) DESC, coalesce(i.stream_offset, 0) DESC, i.batch_id DESC, i.value DESC
  ) AS preference
FROM incoming i
JOIN (SELECT series_id, event_time_ms FROM incoming GROUP BY series_id, event_time_ms HAVING count(*) > 1) AS r USING (series_id, event_time_ms);

-- name: drop_repetitions
-- Takes the repeated readings out of incoming that do not count.
DELETE FROM incoming WHERE rowid IN (SELECT row FROM repeated_reading WHERE preference > 1);

-- name: store_repetitions
-- Keeps the repeated readings that do not count, to explain them.
INSERT INTO superseded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM repeated_reading WHERE preference > 1;

-- name: find_superseded
-- Where a new reading has the series and event time of a stored one, one of the two counts: the one with the higher message id. Where these
-- are equal, the same value again changes nothing, and of different values the one with the higher offset counts, then the one of the later batch.
-- A value that came again counts as what came last of it, because of three readings the one between two of the same value may come later.
-- Stored readings are the excluded ones, too, so that which one counts does not depend on what people exclude.
-- $low_ms, $high_ms: event times of incoming, so that only the stored readings around them are read.
-- superseded: series_id, event_time_ms, value, message_id, stream_offset, batch_id (of the one that does not count), is_new (the value of the stored
-- one counts), counts_offset, counts_batch (of the new one, where it is the stored value that came again later; else null)
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
-- Keeps the readings that do not count, to explain them.
INSERT INTO superseded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM superseded_now;

-- name: update_repeated_reading
-- Stored values that came again count as what came last of them. $low_ms, $high_ms: as in find_superseded.
UPDATE reading SET stream_offset = s.counts_offset, batch_id = s.counts_batch
FROM superseded_now s
WHERE s.counts_batch IS NOT NULL AND reading.series_id = s.series_id AND reading.event_time_ms = s.event_time_ms
  AND reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: update_repeated_exclusion
UPDATE excluded_reading SET stream_offset = s.counts_offset, batch_id = s.counts_batch
FROM superseded_now s
WHERE s.counts_batch IS NOT NULL AND excluded_reading.series_id = s.series_id AND excluded_reading.event_time_ms = s.event_time_ms
  AND excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT;

-- name: drop_losing_incoming
-- Takes the new readings out of incoming that change nothing.
DELETE FROM incoming USING superseded_now s
WHERE s.is_new AND incoming.series_id = s.series_id AND incoming.event_time_ms = s.event_time_ms;

-- name: delete_replaced_readings
-- Removes the stored readings that a new one replaces. $low_ms, $high_ms: as in find_superseded.
DELETE FROM reading USING superseded_now s
WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT s.is_new AND reading.series_id = s.series_id AND reading.event_time_ms = s.event_time_ms;

-- name: count_exclusions
-- How many corrections exclude readings. Where there is none, the statements on excluded readings are not run; where there is no correction, nor is this one.
SELECT count(*) AS count FROM correction_in_force WHERE kind = 'exclude';

-- name: delete_replaced_exclusions
-- Removes the excluded readings that a new one replaces. $low_ms, $high_ms: as in find_superseded.
DELETE FROM excluded_reading USING superseded_now s
WHERE excluded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT s.is_new AND excluded_reading.series_id = s.series_id AND excluded_reading.event_time_ms = s.event_time_ms;

-- name: store_incoming_exclusions
-- New readings of a time that is excluded are kept aside.
INSERT INTO excluded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming i
SEMI JOIN excluded_range x ON x.series_id = i.series_id AND i.event_time_ms >= x.from_ms AND i.event_time_ms < x.to_ms;

-- name: drop_incoming_exclusions
-- No later chapter knows of them.
DELETE FROM incoming USING excluded_range x
WHERE incoming.series_id = x.series_id AND incoming.event_time_ms >= x.from_ms AND incoming.event_time_ms < x.to_ms;

-- name: update_excluded_bounds
-- The first and the last reading that counts, of the touched series of which readings are excluded.
UPDATE series SET first_ms = r.first_ms, last_ms = r.last_ms
FROM (
  SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms
  FROM reading
  WHERE series_id IN (SELECT x.series_id FROM excluded_range x JOIN series s USING (series_id) JOIN incoming_series k ON k.stream_id = s.stream_id AND k.device = s.device)
  GROUP BY series_id
) AS r
WHERE series.series_id = r.series_id AND (series.first_ms <> r.first_ms OR series.last_ms <> r.last_ms);

-- name: store_readings
-- Stores the new readings in the order of time, so that later scans of a stretch of time read few row groups.
INSERT INTO reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming
ORDER BY event_time_ms, series_id;

-- name: update_series_bounds
-- Moves the first and the last reading time of the touched series outwards.
UPDATE series
SET first_ms = least(series.first_ms, k.first_ms), last_ms = greatest(series.last_ms, k.last_ms)
FROM (SELECT series_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM incoming_series WHERE widens GROUP BY series_id) AS k
WHERE series.series_id = k.series_id;
