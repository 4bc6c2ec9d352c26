-- Every budget that was ever uploaded. energy_wh: Wh of the whole period; is_current: no later upload has replaced it.
SELECT
  meter_code,
  period_start,
  period_end,
  energy_wh,
  scenario,
  revision,
  make_timestamptz(uploaded_at_ms * 1000) AS uploaded_at,
  replaced_by IS NULL AS is_current
FROM budget
ORDER BY meter_code, scenario, period_start, period_end, revision
