-- 10 Rows: reports as rows, for the files of exports.
--
-- Reads   chosen, slot, device_day, meter_day, member: tables of the statement that these are the end of (see report/).
-- Writes  one row for each day, interval, device, source or meter. Energy in Wh.
-- Why     A file and the endpoint of the same report are made from the same tables, so that they say the same.

-- name: select_days_by_source
-- The chosen days as rows, for the files of exports: all that is known of each. energy_wh: Wh; coverage: share of the day, 0 to 1.
SELECT day, device, source, energy_wh, method, list_sort(flags) AS flags, coverage, status, version, computed_at FROM chosen

-- name: select_days_by_device
-- Days by device as rows ("device_day": see balance/sum_device_day).
-- energy_wh: Wh, null where none of the sources that count has energy; coverage: share of the day, 0 to 1.
SELECT day, device, energy_wh, array_to_string(methods, ' ') AS method, flags, coverage, status, version, computed_at FROM device_day

-- name: select_intervals_by_source
-- The intervals of the chosen days ("slot": see report/select_intervals) as rows, with the time that a clock in $zone shows.
-- energy_wh: Wh in 15 minutes, null where nothing measured covers them.
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  source,
  energy_wh
FROM slot

-- name: select_intervals_by_device
-- As select_intervals_by_source, the sources of a device added up.
SELECT
  day,
  make_timestamptz(at_ms * 1000) AS interval_start,
  timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local,
  device,
  sum(energy_wh)::BIGINT AS energy_wh
FROM slot
GROUP BY day, device, at_ms

-- name: select_meter_days
-- Days of meters ("meter_day": see report/select_uploaded_days) as rows, with where their energy comes from ("member": see report/select_members).
-- energy_wh: Wh, null where nobody knows it; coverage: share of the day, 0 to 1.
SELECT d.day, d.key AS meter, d.energy_wh, d.quality, d.flags, d.coverage::DOUBLE AS coverage, d.revision,
  CASE WHEN m.device IS NULL THEN 'uploaded' ELSE 'derived' END AS kind, m.device, m.source
FROM meter_day AS d
JOIN member AS m USING (key)

-- name: select_budget_days
-- Days of budgets ("meter_day": see report/select_budget_days) as rows. budget_wh, period_wh: Wh.
SELECT day, key AS meter, scenario, energy_wh AS budget_wh, period_start, period_end, period_wh, revision, uploaded_at
FROM meter_day

-- name: select_names
-- How things are called in the configuration. $names: JSON, an array of { id, name }.
SELECT named->>'id' AS id, named->>'name' AS name FROM (SELECT unnest(from_json($names, '["JSON"]')) AS named)
