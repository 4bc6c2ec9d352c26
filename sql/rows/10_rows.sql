-- 10 Rows: reports as rows, for the endpoints and for exports.
--
-- Reads   chosen, slot, device_day, meter_day, member (tables of the statement that ends with one of these,
--         see report/).
-- Writes  one row for each day or interval, of a device, a source or a meter. Energy in Wh.
-- Why     A file and the endpoint of the same report come from the same tables, so they have the same
--         numbers.

-- name: select_days_by_source
-- Returns the chosen days as rows with all details.
-- Columns:
--   day, device, source, energy_wh, method, flags
--   coverage   share of the day, 0 to 1
--   status, version, computed_at
SELECT day, device, source, energy_wh, method, list_sort(flags) AS flags, coverage, status, version, computed_at
FROM chosen;

-- name: select_days_by_device
-- Returns days by device as rows ("device_day": see balance/sum_device_day).
-- Columns:
--   day, device
--   energy_wh   null: none of the sources that count has energy
--   method, flags
--   coverage    share of the day, 0 to 1
--   status, version, computed_at
SELECT day, device, energy_wh, array_to_string(methods, ' ') AS method, flags, coverage, status, version, computed_at
FROM device_day;

-- name: sum_periods_by_device
-- Returns months or years by device as rows. $period_digits: number of characters of a day that name its
-- period, 7 or 4.
-- Columns:
--   period, device
--   energy_wh   of the days of the range
--   days        number of days with energy
SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, device, sum(energy_wh)::BIGINT AS energy_wh,
  count(*) AS days
FROM device_day
WHERE energy_wh IS NOT NULL
GROUP BY period, device;

-- name: sum_periods_by_source
-- Like sum_periods_by_device, by device and source.
SELECT substr(day::VARCHAR, 1, $period_digits::BIGINT) AS period, device, source, sum(energy_wh)::BIGINT AS energy_wh,
  count(*) AS days
FROM chosen
GROUP BY period, device, source;

-- name: select_intervals_by_source
-- Returns the intervals of the chosen days as rows ("slot": see report/select_intervals), with the local time
-- in $zone.
-- Columns:
--   day, interval_start, interval_start_local, device, source
--   energy_wh   in 15 minutes; null: no measurement covers them
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  source,
  energy_wh
FROM slot;

-- name: select_intervals_by_device
-- Like select_intervals_by_source, with the sources of a device added up.
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  sum(energy_wh)::BIGINT AS energy_wh
FROM slot
GROUP BY day, device, at_ms;

-- name: select_meter_days
-- Returns days of meters as rows ("meter_day": see report/select_uploaded_days), with the origin of their
-- energy ("member": see report/select_members).
-- Columns:
--   day, meter
--   energy_wh        null: unknown
--   quality, flags
--   coverage         share of the day, 0 to 1
--   revision
--   kind             uploaded or derived
--   device, source   of a derived meter
SELECT meter_day.day, meter_day.key AS meter, meter_day.energy_wh, meter_day.quality, meter_day.flags,
  meter_day.coverage::DOUBLE AS coverage, meter_day.revision,
  CASE WHEN member.device IS NULL THEN 'uploaded' ELSE 'derived' END AS kind, member.device, member.source
FROM meter_day
JOIN member USING (key);

-- name: select_budget_days
-- Returns days of budgets as rows ("meter_day": see report/select_budget_days).
SELECT day, key AS meter, scenario, energy_wh AS budget_wh, period_start, period_end, period_wh, revision, uploaded_at
FROM meter_day;

-- name: select_names
-- Lists the configured names. $names: JSON array of { id, name }.
SELECT named->>'id' AS id, named->>'name' AS name FROM (SELECT unnest(from_json($names, '["JSON"]')) AS named);
