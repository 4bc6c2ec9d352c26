-- 90 Versions: which days have changed, and why.
--
-- Reads   day_change, touched_day, interval_day, incoming, noted_limit_change, batch, series, daily_energy.
-- Writes  daily_energy (the current version of each day), daily_energy_history (every version of a day that
--         is over, with its causes), dirty_partition (the parts of the lake to publish again).
-- Why     A number that people have seen never changes without a trace.

-- name: store_versions
-- Stores a new version of each changed day that is over. If the history does not have the version before yet,
-- stores that too. This runs before store_days replaces the days.
-- The cause of a version: new readings of the day itself; else new readings of its source; else new readings
-- of other sources of the device. If limits of the day were learnt again and the day has no new readings, the
-- cause learnt is added.
-- $now_ms, $batch_id: as in store_days. $cause: the changed settings (configuration, zone, rules) or another
-- cause; null for none. $arrived_after: readings of later batches are new.
INSERT INTO daily_energy_history BY NAME
WITH changed_day AS (
  -- The changed days that are over.
  SELECT day, device, source, version FROM day_change WHERE end_ms <= $now_ms::BIGINT
), arrived_batch AS (
  -- The batches that brought new readings of a series and day. Grouped by numbers first, because grouping
  -- millions of readings by device and source is slow.
  SELECT incoming_batch.series_id, incoming_batch.batch_id, interval_day.day
  FROM (
    SELECT series_id, batch_id, interval_of(event_time_ms) AS interval_index
    FROM incoming
    WHERE batch_id > $arrived_after::BIGINT
    GROUP BY ALL
  ) AS incoming_batch
  LEFT JOIN interval_day USING (interval_index)
  GROUP BY ALL
), arrival AS MATERIALIZED (
  -- How new readings came, for each device, source and day.
  SELECT DISTINCT series.device, series.source, arrived_batch.day,
    CASE
      WHEN batch.origin LIKE 'import:%' THEN 'import'
      WHEN batch.origin LIKE 'backfill:%' OR batch.origin LIKE 'archive:%' THEN 'backfill'
      ELSE 'stream'
    END AS cause
  FROM arrived_batch
  JOIN series USING (series_id)
  JOIN batch USING (batch_id)
  WHERE series.device IN (SELECT device FROM changed_day)
), possible_cause AS (
  -- The causes that a changed day can have. distance: 1 for new readings of the day itself, 2 for those of
  -- its source, 3 for those of its device.
  SELECT changed_day.day, changed_day.device, changed_day.source, arrival.cause, 1 AS distance
  FROM changed_day
  JOIN arrival
    ON arrival.device = changed_day.device AND arrival.source = changed_day.source AND arrival.day = changed_day.day
  UNION ALL BY NAME
  SELECT changed_day.day, changed_day.device, changed_day.source, of_device.cause,
    CASE WHEN of_device.source = changed_day.source THEN 2 ELSE 3 END AS distance
  FROM changed_day
  JOIN (SELECT DISTINCT device, source, cause FROM arrival) AS of_device ON of_device.device = changed_day.device
), nearest_cause AS (
  -- One row for each changed day: its causes with the least distance.
  SELECT day, device, source, distance, list_sort(list_distinct(list(cause))) AS causes
  FROM (SELECT *, min(distance) OVER (PARTITION BY day, device, source) AS least_distance FROM possible_cause)
  WHERE distance = least_distance
  GROUP BY ALL
), relearnt_day AS (
  -- Days whose limits were learnt again.
  SELECT DISTINCT changed_day.day, changed_day.device, changed_day.source
  FROM changed_day
  JOIN touched_day USING (day, device, source)
  JOIN series USING (device, source)
  JOIN noted_limit_change
    ON noted_limit_change.series_id = series.series_id AND noted_limit_change.from_ms < touched_day.end_ms
    AND noted_limit_change.to_ms >= touched_day.start_ms
), version_cause AS (
  -- The causes of the new version: the nearest ones, behind changed settings or changed limits.
  SELECT changed_day.day, changed_day.device, changed_day.source,
    CASE
      WHEN $cause::VARCHAR IS NULL AND changed_day.version > 1 AND nearest_cause.distance > 1
        AND relearnt_day.device IS NOT NULL
        THEN list_prepend('learnt', nearest_cause.causes)
      WHEN $cause::VARCHAR IS NULL THEN coalesce(nearest_cause.causes, ['learnt'])
      -- The first version of a day has its readings as cause.
      WHEN changed_day.version = 1 THEN coalesce(nearest_cause.causes, [$cause::VARCHAR])
      ELSE list_prepend($cause::VARCHAR, coalesce(nearest_cause.causes, []))
    END AS causes
  FROM changed_day
  LEFT JOIN nearest_cause USING (day, device, source)
  LEFT JOIN relearnt_day USING (day, device, source)
)
-- The versions before.
SELECT daily_energy.day, daily_energy.device, daily_energy.source, daily_energy.energy_wh, daily_energy.method,
  daily_energy.flags, daily_energy.coverage, daily_energy.version, daily_energy.computed_at_ms,
  daily_energy.batch_id, daily_energy.status,
  [] AS causes
FROM day_change
JOIN daily_energy
  ON daily_energy.day = day_change.day AND daily_energy.device = day_change.device
  AND daily_energy.source = day_change.source
WHERE day_change.end_ms <= $now_ms::BIGINT AND daily_energy.version > coalesce(day_change.history_version, 0)
UNION ALL BY NAME
-- The new versions.
SELECT day_change.day, day_change.device, day_change.source, day_change.energy_wh, day_change.method, day_change.flags,
  day_change.coverage, day_change.version,
  $now_ms::BIGINT AS computed_at_ms, $batch_id::BIGINT AS batch_id, day_change.status, version_cause.causes
FROM day_change
JOIN version_cause USING (day, device, source);

-- name: delete_changed_days
-- Deletes the changed days.
DELETE FROM daily_energy USING day_change
WHERE daily_energy.day = day_change.day AND daily_energy.device = day_change.device
  AND daily_energy.source = day_change.source;

-- name: store_days
-- Stores the changed days. A day without energy has no row. $now_ms: the time of this roll-up. $batch_id: its
-- last batch.
INSERT INTO daily_energy BY NAME
SELECT day, device, source, energy_wh, method, stream_id, flags, coverage, status, version,
  $now_ms::BIGINT AS computed_at_ms, $batch_id::BIGINT AS batch_id
FROM day_change
WHERE energy_wh IS NOT NULL;

-- name: mark_dirty
-- Marks the parts of the lake to publish again: the months of changed days, the months of new versions
-- ($now_ms), and the UTC days of the touched days between $low_ms and $high_ms.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'daily_energy' AS dataset, strftime(day, '%Y-%m') AS partition FROM day_change
UNION ALL BY NAME
SELECT DISTINCT 'daily_energy_version' AS dataset, strftime(day, '%Y-%m') AS partition
FROM day_change
WHERE end_ms <= $now_ms::BIGINT
UNION ALL BY NAME
SELECT DISTINCT 'interval_energy' AS dataset,
  make_timestamp_ms(unnest([touched_day.start_ms, touched_day.end_ms - 1]))::DATE::VARCHAR AS partition
FROM touched_day
WHERE touched_day.start_ms >= $low_ms::BIGINT AND touched_day.end_ms <= $high_ms::BIGINT;

-- name: mark_closing_days
-- Marks the months of the days that `close_days` makes final.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'daily_energy' AS dataset, strftime(day, '%Y-%m') AS partition FROM daily_energy
WHERE status = 'provisional' AND day < $before::DATE;

-- name: close_days
-- Makes days final that ended longer ago than late data is waited for. $before: the first local day that is
-- not final.
UPDATE daily_energy SET status = 'final' WHERE status = 'provisional' AND day < $before::DATE;
