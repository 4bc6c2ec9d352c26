-- 40 Lists: what has been uploaded so far.
--
-- Reads   meter_reading, meter_register, budget, upload.
-- Writes  nothing. Returns one row for each meter, or for each meter, scenario and kind of period. Energy in
--         Wh.
-- Why     People see the current data before they send more.

-- name: list_readings
-- Returns the current readings by meter, and registers with only one value.
-- Columns:
--   meter, from_register, readings, first_ms, last_ms, energy_wh
--   faults   number of intervals in which a register fell
--   revision, uploaded_at_ms
SELECT
  meter_code AS meter,
  any_value(from_register) AS from_register,
  count(*)::DOUBLE AS readings,
  min(start_ms)::DOUBLE AS first_ms,
  max(end_ms)::DOUBLE AS last_ms,
  sum(energy_wh)::DOUBLE AS energy_wh,
  count(*) FILTER (quality = 'fault')::DOUBLE AS faults,
  max(revision) AS revision,
  max(received_at_ms)::DOUBLE AS uploaded_at_ms
FROM meter_reading
WHERE replaced_by IS NULL
GROUP BY meter_code
UNION ALL BY NAME
SELECT
  meter_register.meter_code AS meter,
  true AS from_register,
  0 AS readings,
  min(meter_register.at_ms) AS first_ms,
  max(meter_register.at_ms) AS last_ms,
  0 AS energy_wh,
  0 AS faults,
  max(meter_register.revision) AS revision,
  max(upload.received_at_ms) AS uploaded_at_ms
FROM meter_register JOIN upload USING (upload_id)
WHERE meter_register.replaced_by IS NULL AND meter_register.meter_code NOT IN (
  SELECT meter_code FROM meter_reading WHERE replaced_by IS NULL
)
GROUP BY meter_register.meter_code
ORDER BY ALL;

-- name: list_budgets
-- Returns the current budgets by meter, scenario and kind of period.
SELECT
  meter_code AS meter,
  scenario,
  granularity(period_start, period_end) AS period,
  count(*)::DOUBLE AS periods,
  min(period_start)::VARCHAR AS first_day,
  max(period_end)::VARCHAR AS last_day,
  sum(energy_wh)::DOUBLE AS energy_wh,
  max(revision) AS revision,
  max(uploaded_at_ms)::DOUBLE AS uploaded_at_ms
FROM budget
WHERE replaced_by IS NULL
GROUP BY meter_code, scenario, period
ORDER BY meter_code, scenario, min(period_end - period_start) DESC;
