-- 20 Pieces: which parts of the datasets must be written, and the number of rows of each.
--
-- Reads   message, name, reported_interval, daily_energy, daily_energy_history, device_status, meter_reading.
-- Writes  nothing. Returns one row for each piece (a day or a month of a dataset, or an hour of a table), or
--         the row count of one piece.
-- Why     The rows of a file are compared with the count that was taken before it was written. A file that
--         lacks a row is not published.

-- name: count_messages
-- Returns the tables and hours ($hour_ms; UTC, by store time) with messages of the batches after
-- $after_batch_id up to $through_batch_id. Large hours are divided into parts of whole batches, with at most
-- $rows_max messages or one batch, because a file is sorted in memory.
WITH counted AS (
  -- The messages of each table, hour and batch. The hour is computed with a remainder, because functions of
  -- dates take twice as long, and this reads every new message.
  SELECT table_id, store_time_ms - store_time_ms % $hour_ms::BIGINT AS hour_start_ms, batch_id, count(*) AS row_count
  FROM message
  WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
  GROUP BY ALL
), part AS (
  -- The parts of these hours, as ranges of batches.
  SELECT table_id, hour_start_ms, min(batch_id) - 1 AS after_batch_id, max(batch_id) AS through_batch_id,
    sum(row_count) AS row_count
  FROM (
    SELECT *,
      (sum(row_count) OVER (PARTITION BY table_id, hour_start_ms ORDER BY batch_id) - 1) // $rows_max::BIGINT
        AS part_number
    FROM counted
  )
  GROUP BY table_id, hour_start_ms, part_number
)
SELECT part.table_id, coalesce(name.name, '#' || part.table_id) AS table_name,
  part.hour_start_ms::DOUBLE AS hour_start_ms, part.after_batch_id::BIGINT AS after_batch_id,
  part.through_batch_id::BIGINT AS through_batch_id, part.row_count::DOUBLE AS row_count
FROM part
LEFT JOIN name ON name.name_id = part.table_id
ORDER BY ALL;

-- name: find_interval_days
-- Returns every UTC day with intervals, YYYY-MM-DD.
SELECT day::VARCHAR AS day
FROM (SELECT DISTINCT make_timestamp_ms(interval_start_ms)::DATE AS day FROM reported_interval)
ORDER BY day;

-- name: count_intervals
-- Counts the intervals from $start_ms up to $end_ms (excluded), and their energy (Wh).
SELECT count(*)::DOUBLE AS row_count, coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh
FROM reported_interval
WHERE interval_start_ms >= $start_ms::BIGINT AND interval_start_ms < $end_ms::BIGINT;

-- name: find_daily_months
-- Returns every month (of local days) with daily energy, YYYY-MM.
SELECT DISTINCT strftime(day, '%Y-%m') AS month FROM daily_energy ORDER BY ALL;

-- name: count_days
-- Counts the rows of daily_energy from $start_day up to $end_day (excluded; local days), and their energy
-- (Wh).
SELECT count(*)::DOUBLE AS row_count, coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh
FROM daily_energy
WHERE day >= $start_day::DATE AND day < $end_day::DATE;

-- name: find_version_months
-- Returns every month (of local days) with versions of days, YYYY-MM.
SELECT DISTINCT strftime(day, '%Y-%m') AS month FROM daily_energy_history ORDER BY ALL;

-- name: count_versions
-- Counts the versions in daily_energy_history from $start_day up to $end_day (excluded; local days).
SELECT count(*)::DOUBLE AS row_count FROM daily_energy_history WHERE day >= $start_day::DATE AND day < $end_day::DATE;

-- name: find_device_status_days
-- Returns every UTC day with stored transitions, YYYY-MM-DD.
SELECT day::VARCHAR AS day
FROM (SELECT DISTINCT make_timestamp_ms(store_time_ms)::DATE AS day FROM device_status)
ORDER BY day;

-- name: count_device_status
-- Counts the transitions that were stored from $start_ms up to $end_ms (excluded).
SELECT count(*)::DOUBLE AS row_count
FROM device_status
WHERE store_time_ms >= $start_ms::BIGINT AND store_time_ms < $end_ms::BIGINT;

-- name: find_meter_reading_months
-- Returns every month (UTC, of the interval's start) with meter readings, YYYY-MM.
SELECT DISTINCT strftime(make_timestamp_ms(start_ms), '%Y-%m') AS month FROM meter_reading ORDER BY ALL;

-- name: count_meter_readings
-- Counts the meter readings that start from $start_ms up to $end_ms (excluded).
SELECT count(*)::DOUBLE AS row_count
FROM meter_reading
WHERE start_ms >= $start_ms::BIGINT AND start_ms < $end_ms::BIGINT;
