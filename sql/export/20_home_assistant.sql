-- 20 Home Assistant: the daily energy that goes back to it.
--
-- Reads   day_row (the days of an export as rows, see rows/select_days_by_source; source is null if they are
--         by device).
-- Writes  a row for each device and source. Energy in Wh.
-- Why     Years of days are one text for each statistic, so that the process does not hold an object for each
--         day.

-- name: list_daily_series
-- Returns one row for each device and source with known energy, at most one more than $series_max.
-- Columns:
--   device, device_name, source
--   days   JSON object, Wh by day, without days that are not known
SELECT
  device::VARCHAR AS device,
  any_value(device_name) AS device_name,
  source,
  to_json(map_from_entries(list(row(day::VARCHAR, energy_wh))))::VARCHAR AS days
FROM day_row
WHERE energy_wh IS NOT NULL
GROUP BY device, source
ORDER BY device, source
LIMIT $series_max::BIGINT + 1;
