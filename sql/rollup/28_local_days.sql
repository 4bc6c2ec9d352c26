-- 28 Local days: the days around the time that is computed, and their intervals.
--
-- Reads   the time zone database, which src/lib/time.ts asks.
-- Writes  local_day, interval_day.
-- Why     Joining these tables is many times faster than asking the time zone database for each reading.

-- name: bind_days
-- Stores the local days around the scope.
-- $days, $starts_ms, $ends_ms: the days and their bounds, from the time zone database.
-- local_day: day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE local_day AS
SELECT unnest($days::VARCHAR[])::DATE AS day, unnest($starts_ms::BIGINT[]) AS start_ms,
  unnest($ends_ms::BIGINT[]) AS end_ms;

-- name: bind_intervals
-- Makes one row for each interval of the local days.
-- interval_day:
--   interval_index   see interval_of
--   day, start_ms, end_ms
CREATE OR REPLACE TEMP TABLE interval_day AS
SELECT unnest(range(interval_of(start_ms), interval_of(end_ms))) AS interval_index, day, start_ms, end_ms
FROM local_day;
