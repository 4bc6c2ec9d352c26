-- 35 Set aside: series whose roll-up fails.
--
-- Reads   set_aside (these series), series, series_rule, stream_setting, restated_stream, energy_stream,
--         incoming, touched, touched_day, local_day, day_change, daily_energy, daily_energy_history.
-- Writes  set_aside, touched_day, day_change (so that days of these series keep their energy), series_rule,
--         touched (without these series); interval_energy, series_quarter, series_day, series_break,
--         energy_event (without series that are tried again).
-- Why     One series must not stop a workgroup. Trials find the failing series
--         (src/rollup/find-failing-series.ts), and the others are rolled up without it. If no series is set
--         aside, none of these statements runs.

-- name: find_retried_series
-- Finds the series that are tried again: another version of the program ($version), other rules, another
-- configuration, or a request of a person.
-- retried_series:
--   stream_id, device, source
--   series_id   null: the series has no reading
CREATE OR REPLACE TEMP TABLE retried_series AS
SELECT a.stream_id, a.device, a.source, s.series_id
FROM set_aside a
LEFT JOIN series s ON s.stream_id = a.stream_id AND s.device = a.device AND s.source = a.source
WHERE a.program_version <> $version OR a.stream_id IN (SELECT stream_id FROM restated_stream)
  OR a.stream_id NOT IN (SELECT stream_id FROM stream_setting);

-- name: release_retried_series
-- Removes the series that are tried again (retried_series) from set_aside.
DELETE FROM set_aside USING retried_series r WHERE set_aside.stream_id = r.stream_id AND set_aside.device = r.device AND set_aside.source = r.source;

-- name: delete_retried_intervals
-- Deletes the intervals of the series that are tried again, because everything that follows from their
-- readings is computed again.
DELETE FROM interval_energy WHERE series_id IN (SELECT series_id FROM retried_series);

-- name: delete_retried_quarters
-- Deletes the quarters of the series that are tried again.
DELETE FROM series_quarter WHERE series_id IN (SELECT series_id FROM retried_series);

-- name: delete_retried_days
-- Deletes the learnt days of the series that are tried again.
DELETE FROM series_day WHERE series_id IN (SELECT series_id FROM retried_series);

-- name: delete_retried_breaks
-- Deletes the breaks of the series that are tried again.
DELETE FROM series_break WHERE series_id IN (SELECT series_id FROM retried_series);

-- name: delete_retried_events
-- Deletes the events of the series that are tried again.
DELETE FROM energy_event WHERE series_id IN (SELECT series_id FROM retried_series);

-- name: touch_retried_series
-- Touches the whole time of the series that are tried again.
INSERT INTO touched
SELECT s.series_id, s.first_ms, s.last_ms, true
FROM series s JOIN series_rule USING (series_id)
WHERE s.series_id IN (SELECT series_id FROM retried_series);

-- name: find_omitted_series
-- Lists the series that are set aside, because this roll-up omits them.
-- omitted_series: stream_id, position, device, source, series_id
CREATE OR REPLACE TEMP TABLE omitted_series AS
SELECT r.stream_id, r.position, r.device, r.source, r.series_id
FROM series_rule r JOIN set_aside a ON a.stream_id = r.stream_id AND a.device = r.device AND a.source = r.source;

-- name: omit_trial_series
-- Adds the series that a trial omits. $streams, $devices, $sources: lists of the same length.
INSERT INTO omitted_series
SELECT r.stream_id, r.position, r.device, r.source, r.series_id
FROM series_rule r
JOIN (SELECT unnest($streams::INTEGER[]) AS stream_id, unnest($devices::UUID[]) AS device, unnest($sources::VARCHAR[]) AS source) AS a
  ON a.stream_id = r.stream_id AND a.device = r.device AND a.source = r.source;

-- name: drop_omitted_rules
-- Drops the rules of the omitted series, so that the later chapters do not see these series.
DELETE FROM series_rule WHERE series_id IN (SELECT series_id FROM omitted_series);

-- name: drop_omitted_touched
-- Drops the touched time of the omitted series.
DELETE FROM touched WHERE series_id IN (SELECT series_id FROM omitted_series);

-- name: list_omitted_series
-- Returns the omitted series.
SELECT series_id FROM omitted_series;

-- name: list_touched_series
-- Returns the touched series (table touched of chapter 30).
SELECT DISTINCT s.stream_id, s.device::VARCHAR AS device, s.source
FROM touched t JOIN series s USING (series_id)
ORDER BY ALL;

-- name: list_omitted_days
-- Returns the UTC days on which omitted series have new readings, in order.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms
FROM incoming WHERE series_id IN (SELECT series_id FROM omitted_series)
GROUP BY utc_day(event_time_ms) ORDER BY low_ms;

-- name: touch_omitted_days
-- Adds the local days of the new readings of omitted series to touched_day.
INSERT INTO touched_day
SELECT DISTINCT l.device, l.source, d.day, d.start_ms, d.end_ms
FROM incoming i
JOIN omitted_series l USING (series_id)
JOIN local_day d ON i.event_time_ms >= d.start_ms AND i.event_time_ms < d.end_ms
EXCEPT SELECT * FROM touched_day;

-- name: find_unavailable_days
-- Decides the days of sources that have an omitted series. A day that was read from that series keeps its
-- stored energy. Any other day is read from the other fields, and is unavailable if the omitted series comes
-- before the chosen one.
-- $low_ms, $high_ms: as in find_candidates. $now_ms, $close_after_ms: as in find_day_changes.
-- unavailable_day: columns of day_change
CREATE OR REPLACE TEMP TABLE unavailable_day AS
WITH wanted_day AS (
  -- The days with an omitted series. position: of the first omitted one.
  SELECT t.day, t.device, t.source, any_value(t.end_ms) AS end_ms, list(l.stream_id) AS streams, min(l.position) AS position
  FROM touched_day t
  JOIN omitted_series l USING (device, source)
  WHERE t.start_ms >= $low_ms::BIGINT AND t.end_ms <= $high_ms::BIGINT
  GROUP BY t.day, t.device, t.source
), combined AS (
  -- With the stored day (old), and the day as the other fields say it (new). is_kept: the day was read from
  -- an omitted series. is_before: an omitted series comes before the chosen one.
  SELECT w.day, w.device, w.source, w.end_ms, o.day IS NOT NULL AS is_stored, coalesce(list_contains(w.streams, o.stream_id), false) AS is_kept,
    coalesce(p.position > w.position, true) AS is_before, is_kept OR c.day IS NULL AS stays, o AS old, c AS new
  FROM wanted_day w
  LEFT JOIN daily_energy o ON o.day = w.day AND o.device = w.device AND o.source = w.source
  LEFT JOIN day_change c ON c.day = w.day AND c.device = w.device AND c.source = w.source
  LEFT JOIN stream_setting p ON p.stream_id = CASE WHEN c.day IS NULL THEN o.stream_id ELSE c.stream_id END
), decided AS (
  -- The stored energy stays if the day is kept, or if the other fields change nothing.
  SELECT day, device, source, end_ms, old, new, is_stored,
    CASE WHEN stays THEN old.energy_wh ELSE new.energy_wh END AS energy_wh,
    CASE WHEN stays THEN old.method ELSE new.method END AS method,
    CASE WHEN stays THEN old.stream_id ELSE new.stream_id END AS stream_id,
    ((CASE WHEN stays THEN old.flags ELSE new.flags END & ~flag('unavailable'))
      | CASE WHEN is_kept OR is_before THEN flag('unavailable') ELSE 0 END)::UINTEGER AS flags,
    CASE WHEN stays THEN old.coverage ELSE new.coverage END AS coverage
  FROM combined
), history AS (
  SELECT day, device, source, max(version) AS version FROM daily_energy_history
  WHERE day IN (SELECT day FROM wanted_day) AND device IN (SELECT device FROM wanted_day)
  GROUP BY ALL
)
SELECT d.day, d.device, d.source, d.energy_wh, d.method, d.stream_id, d.flags, d.coverage, d.end_ms,
  CASE WHEN NOT d.is_stored THEN coalesce(k.version, 0) + 1 WHEN d.end_ms <= $now_ms::BIGINT THEN d.old.version + 1 ELSE d.old.version END AS version,
  day_status(CASE WHEN d.new.status = 'restated' THEN 'restated' ELSE d.old.status END, d.end_ms, $now_ms::BIGINT, $close_after_ms::BIGINT) AS status,
  k.version AS history_version
FROM decided d
LEFT JOIN history k USING (day, device, source)
WHERE (d.energy_wh, d.stream_id, d.flags, d.coverage) IS DISTINCT FROM (d.old.energy_wh, d.old.stream_id, d.old.flags, d.old.coverage);

-- name: drop_unavailable_changes
-- Drops the changes of days that have an omitted series, because they follow from the other fields alone. A
-- withdrawn day stays withdrawn.
DELETE FROM day_change USING touched_day t
WHERE day_change.day = t.day AND day_change.device = t.device AND day_change.source = t.source
  AND (t.device, t.source) IN (SELECT (device, source) FROM omitted_series);

-- name: add_unavailable_changes
-- Adds what find_unavailable_days has decided about these days to day_change.
INSERT INTO day_change BY NAME FROM unavailable_day;

-- name: count_day_changes
-- Counts the changed days.
SELECT count(*) AS count FROM day_change;

-- name: update_set_aside
-- Stores that a series ($stream_id, $device, $source) that is set aside has failed again.
UPDATE set_aside SET error = $error, program_version = $version
WHERE stream_id = $stream_id AND device = $device::UUID AND source = $source;

-- name: set_aside
-- Sets a series aside, if it is not yet. $now_ms: the current time. $error, $version: see table set_aside.
INSERT INTO set_aside (stream_id, device, source, since_ms, error, program_version)
SELECT $stream_id, $device::UUID, $source, $now_ms::BIGINT, $error, $version
WHERE NOT EXISTS (SELECT 1 FROM set_aside WHERE stream_id = $stream_id AND device = $device::UUID AND source = $source);

-- name: request_retry
-- Lets the next roll-up try the series of a device again; $device null: all series that are set aside.
UPDATE set_aside SET program_version = '' WHERE $device::UUID IS NULL OR device = $device::UUID;

-- name: list_set_aside
-- Returns the series that are set aside, with the position of their stream in the configuration (null: no
-- longer configured).
SELECT json_extract(e.settings, '$.position')::INTEGER AS position, a.device::VARCHAR AS device, a.source, e.identity->>'field' AS field,
  a.since_ms::DOUBLE AS since_ms, a.error, a.program_version AS version
FROM set_aside a JOIN energy_stream e USING (stream_id)
ORDER BY ALL;
