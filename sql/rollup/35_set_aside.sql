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

-- name: collect_retried_series
-- Finds the series that are tried again: another version of the program ($version), other rules, another
-- configuration, or a request of a person.
-- retried_series:
--   stream_id, device, source
--   series_id   null: the series has no reading
CREATE OR REPLACE TEMP TABLE retried_series AS
SELECT set_aside.stream_id, set_aside.device, set_aside.source, series.series_id
FROM set_aside
LEFT JOIN series
  ON series.stream_id = set_aside.stream_id AND series.device = set_aside.device AND series.source = set_aside.source
WHERE set_aside.program_version <> $version OR set_aside.stream_id IN (SELECT stream_id FROM restated_stream)
  OR set_aside.stream_id NOT IN (SELECT stream_id FROM stream_setting);

-- name: release_retried_series
-- Removes the series that are tried again (retried_series) from set_aside.
DELETE FROM set_aside USING retried_series
WHERE set_aside.stream_id = retried_series.stream_id AND set_aside.device = retried_series.device
  AND set_aside.source = retried_series.source;

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
INSERT INTO touched BY NAME
SELECT series.series_id, series.first_ms AS from_ms, series.last_ms AS to_ms, true AS is_new
FROM series JOIN series_rule USING (series_id)
WHERE series.series_id IN (SELECT series_id FROM retried_series);

-- name: collect_omitted_series
-- Lists the series that are set aside, because this roll-up omits them.
-- omitted_series: stream_id, position, device, source, series_id
CREATE OR REPLACE TEMP TABLE omitted_series AS
SELECT series_rule.stream_id, series_rule.position, series_rule.device, series_rule.source, series_rule.series_id
FROM series_rule
JOIN set_aside
  ON set_aside.stream_id = series_rule.stream_id AND set_aside.device = series_rule.device
  AND set_aside.source = series_rule.source;

-- name: omit_trial_series
-- Adds the series that a trial omits. $streams, $devices, $sources: lists of the same length.
INSERT INTO omitted_series BY NAME
SELECT series_rule.stream_id, series_rule.position, series_rule.device, series_rule.source, series_rule.series_id
FROM series_rule
JOIN (
  SELECT unnest($streams::INTEGER[]) AS stream_id, unnest($devices::UUID[]) AS device,
    unnest($sources::VARCHAR[]) AS source
) AS trial
  ON trial.stream_id = series_rule.stream_id AND trial.device = series_rule.device
  AND trial.source = series_rule.source;

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
-- Returns the touched series (table touched of chapter 25).
SELECT DISTINCT series.stream_id, series.device::VARCHAR AS device, series.source
FROM touched JOIN series USING (series_id)
ORDER BY ALL;

-- name: list_omitted_ranges
-- Returns the time of the new readings of omitted series: a range for each UTC day, in order.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms
FROM incoming WHERE series_id IN (SELECT series_id FROM omitted_series)
GROUP BY utc_day(event_time_ms) ORDER BY low_ms;

-- name: touch_omitted_days
-- Adds the local days of the new readings of omitted series to touched_day. A reading at midnight belongs to
-- the day that begins.
INSERT INTO touched_day BY NAME
SELECT DISTINCT omitted_series.device, omitted_series.source, local_day.day, local_day.start_ms, local_day.end_ms
FROM incoming
JOIN omitted_series USING (series_id)
JOIN local_day ON incoming.event_time_ms >= local_day.start_ms AND incoming.event_time_ms < local_day.end_ms
EXCEPT SELECT device, source, day, start_ms, end_ms FROM touched_day;

-- name: collect_unavailable_days
-- Decides the days of sources that have an omitted series. A day that was read from that series keeps its
-- stored energy. Any other day is read from the other fields, and is unavailable if the omitted series comes
-- before the chosen one.
-- $low_ms, $high_ms: as in collect_candidates. $now_ms, $close_after_ms: as in collect_day_changes.
-- unavailable_day: columns of day_change
CREATE OR REPLACE TEMP TABLE unavailable_day AS
WITH wanted_day AS (
  -- The days with an omitted series. position: of the first omitted one.
  SELECT touched_day.day, touched_day.device, touched_day.source, any_value(touched_day.end_ms) AS end_ms,
    list(omitted_series.stream_id) AS streams,
    min(omitted_series.position) AS position
  FROM touched_day
  JOIN omitted_series USING (device, source)
  WHERE touched_day.start_ms >= $low_ms::BIGINT AND touched_day.end_ms <= $high_ms::BIGINT
  GROUP BY touched_day.day, touched_day.device, touched_day.source
), combined AS (
  -- These days, with the stored day (old), and the day as the other fields say it (new). is_kept: the day was
  -- read from an omitted series. is_before: an omitted series comes before the chosen one. stays: the stored
  -- energy stays, because the day is kept, or because the other fields change nothing.
  SELECT wanted_day.day, wanted_day.device, wanted_day.source, wanted_day.end_ms,
    coalesce(list_contains(wanted_day.streams, daily_energy.stream_id), false) AS is_kept,
    coalesce(stream_setting.position > wanted_day.position, true) AS is_before,
    is_kept OR day_change.day IS NULL AS stays, daily_energy AS old, day_change AS new
  FROM wanted_day
  LEFT JOIN daily_energy
    ON daily_energy.day = wanted_day.day AND daily_energy.device = wanted_day.device
    AND daily_energy.source = wanted_day.source
  LEFT JOIN day_change
    ON day_change.day = wanted_day.day AND day_change.device = wanted_day.device
    AND day_change.source = wanted_day.source
  LEFT JOIN stream_setting
    ON stream_setting.stream_id = CASE
      WHEN day_change.day IS NULL THEN daily_energy.stream_id
      ELSE day_change.stream_id
    END
), decided AS (
  -- These days, with their energy.
  SELECT day, device, source, end_ms, old, new,
    CASE WHEN stays THEN old.energy_wh ELSE new.energy_wh END AS energy_wh,
    CASE WHEN stays THEN old.method ELSE new.method END AS method,
    CASE WHEN stays THEN old.stream_id ELSE new.stream_id END AS stream_id,
    (
      (CASE WHEN stays THEN old.flags ELSE new.flags END & ~flag('unavailable'))
      | CASE WHEN is_kept OR is_before THEN flag('unavailable') ELSE 0 END
    )::UINTEGER AS flags,
    CASE WHEN stays THEN old.coverage ELSE new.coverage END AS coverage
  FROM combined
), history AS (
  -- The newest version of each of these days in the history.
  SELECT day, device, source, max(version) AS version FROM daily_energy_history
  WHERE day IN (SELECT day FROM wanted_day) AND device IN (SELECT device FROM wanted_day)
  GROUP BY ALL
)
SELECT decided.day, decided.device, decided.source, decided.energy_wh, decided.method, decided.stream_id, decided.flags,
  decided.coverage, decided.end_ms,
  day_version(decided.old.version, history.version, decided.end_ms, $now_ms::BIGINT) AS version,
  day_status(
    CASE WHEN decided.new.status = 'restated' THEN 'restated' ELSE decided.old.status END,
    decided.end_ms, $now_ms::BIGINT, $close_after_ms::BIGINT
  ) AS status,
  history.version AS history_version
FROM decided
LEFT JOIN history USING (day, device, source)
WHERE (decided.energy_wh, decided.stream_id, decided.flags, decided.coverage)
  IS DISTINCT FROM (decided.old.energy_wh, decided.old.stream_id, decided.old.flags, decided.old.coverage);

-- name: drop_unavailable_changes
-- Drops the changes of days that have an omitted series, because they follow from the other fields alone. A
-- withdrawn day stays withdrawn.
DELETE FROM day_change USING touched_day
WHERE day_change.day = touched_day.day AND day_change.device = touched_day.device
  AND day_change.source = touched_day.source
  AND (touched_day.device, touched_day.source) IN (SELECT (device, source) FROM omitted_series);

-- name: add_unavailable_changes
-- Adds what collect_unavailable_days has decided about these days to day_change.
INSERT INTO day_change BY NAME FROM unavailable_day;

-- name: count_day_changes
-- Counts the changed days.
SELECT count(*) AS count FROM day_change;

-- name: update_set_aside
-- Stores that a series ($stream_id, $device, $source) that is set aside has failed again.
UPDATE set_aside SET error = $error, program_version = $version
WHERE stream_id = $stream_id AND device = $device::UUID AND source = $source;

-- name: store_set_aside
-- Sets a series aside, if it is not yet. $now_ms: the current time. $error, $version: see table set_aside.
INSERT INTO set_aside BY NAME
SELECT $stream_id AS stream_id, $device::UUID AS device, $source AS source, $now_ms::BIGINT AS since_ms,
  $error AS error, $version AS program_version
WHERE NOT EXISTS (SELECT 1 FROM set_aside WHERE stream_id = $stream_id AND device = $device::UUID AND source = $source);

-- name: request_retry
-- Lets the next roll-up try the series of a device again; $device null: all series that are set aside.
UPDATE set_aside SET program_version = '' WHERE $device::UUID IS NULL OR device = $device::UUID;

-- name: list_set_aside
-- Returns the series that are set aside, with the position of their stream in the configuration (null: no
-- longer configured).
SELECT json_extract(energy_stream.settings, '$.position')::INTEGER AS position, set_aside.device::VARCHAR AS device,
  set_aside.source,
  energy_stream.identity->>'field' AS field,
  set_aside.since_ms::DOUBLE AS since_ms, set_aside.error, set_aside.program_version AS version
FROM set_aside JOIN energy_stream USING (stream_id)
ORDER BY ALL;
