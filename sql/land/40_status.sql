-- 40 Status: the contents of a warehouse.
--
-- Reads   message, batch, gap, name, schema_migration, quarantine, rejected_reading, import_file,
--         energy_stream, pending_change, progress, series, daily_energy, daily_energy_history, quality_flag.
-- Writes  nothing.
-- Why     People see whether the pipeline works, and what needs their attention.

-- name: count_landed
-- Returns counts for the status of a shard.
-- Columns:
--   message_count, batch_count
--   gap_count        open gaps
--   gap_open_ms      the time that they miss, as far as it is known
--   restated_count   versions of days that differ from a final version
--   name_count, schema_number
SELECT
  (SELECT count(*) FROM message)::DOUBLE AS message_count,
  (SELECT count(*) FROM batch)::DOUBLE AS batch_count,
  (SELECT count(*) FROM gap WHERE closed_at_ms IS NULL)::DOUBLE AS gap_count,
  (SELECT coalesce(sum(to_time_ms - from_time_ms), 0)::DOUBLE FROM gap WHERE closed_at_ms IS NULL) AS gap_open_ms,
  (SELECT count(*) FROM daily_energy_history WHERE status = 'restated')::DOUBLE AS restated_count,
  (SELECT count(*) FROM name)::DOUBLE AS name_count,
  (SELECT max(number) FROM schema_migration) AS schema_number;

-- name: count_quarantine_reasons
-- Counts quarantined messages and rejected readings by reason, the most frequent first.
-- Columns:
--   reason
--   readings   of quarantined messages: the messages
SELECT reason, sum(readings)::DOUBLE AS readings
FROM (
  SELECT reason, count(*) AS readings FROM quarantine GROUP BY reason
  UNION ALL BY NAME
  SELECT reason, sum(readings) AS readings FROM rejected_reading GROUP BY reason
)
GROUP BY reason
ORDER BY readings DESC, reason;

-- name: count_flagged_days
-- Counts the days of devices and sources since $since_day by quality flag.
-- Columns: flag, days
SELECT quality_flag.flag, count(*)::DOUBLE AS days
FROM daily_energy
JOIN quality_flag ON daily_energy.flags & quality_flag.bit <> 0
WHERE daily_energy.day >= $since_day::DATE
GROUP BY quality_flag.flag
ORDER BY quality_flag.flag;

-- name: count_recent
-- Counts the messages of the stream that landed, or were quarantined, after $landed_after_ms.
-- Columns:
--   messages, quarantined
--   newest_reading_ms   the event time of the newest reading that is not in the future; null: none
SELECT
  coalesce(sum(message_count), 0)::DOUBLE AS messages,
  coalesce(sum(quarantined_count), 0)::DOUBLE AS quarantined,
  (SELECT max(last_ms) FROM series WHERE last_ms <= $now_ms::BIGINT)::DOUBLE AS newest_reading_ms
FROM batch
WHERE origin = 'stream' AND landed_at_ms > $landed_after_ms::BIGINT;

-- name: find_open_imports
-- Returns imports that do not count yet: those that are landing, and those that were given up and are the
-- last import of their path, unless their content has landed since then from another path.
-- Columns: path, state, rows_read, updated_at_ms
WITH import AS (
  -- All imports. landed_id: the last import that has landed with the same content; null: none.
  SELECT import_id, path, state, rows_read, updated_at_ms,
    import_id = max(import_id) OVER (PARTITION BY path) AS is_last_of_path,
    max(import_id) FILTER (state = 'landed') OVER (PARTITION BY content_hash) AS landed_id
  FROM import_file
)
SELECT path, state, rows_read::DOUBLE AS rows_read, updated_at_ms::DOUBLE AS updated_at_ms
FROM import
WHERE state = 'landing' OR (state = 'dropped' AND is_last_of_path AND (landed_id IS NULL OR import_id > landed_id))
ORDER BY import_id;

-- name: find_taken_in
-- Finds up to which batch the pipeline has come. $streams: the number of configured energy streams.
-- Columns:
--   rolled_up_batch_id   the last batch whose energy is complete for every configured energy stream: those
--                        with settings. -1: none
--   published_batch_id   the last batch whose energy is published; -1: none
SELECT
  coalesce(
    least(
      (SELECT min(batch_id) FROM energy_stream WHERE settings IS NOT NULL),
      (SELECT min(complete_batch_id) FROM pending_change)
    ),
    CASE WHEN $streams::INTEGER = 0 THEN (SELECT max(batch_id) FROM batch) END,
    -1
  ) AS rolled_up_batch_id,
  coalesce((SELECT max(batch_id) FROM progress WHERE stage = 'publish'), -1) AS published_batch_id;
