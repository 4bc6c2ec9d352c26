-- The budgets that count, by meter, scenario and kind of period. energy_wh: Wh.
SELECT
  meter_code AS meter,
  scenario,
  CASE
    WHEN period_start = period_end THEN 'day'
    WHEN day(period_start) = 1 AND period_end = last_day(period_start) THEN 'month'
    WHEN dayofyear(period_start) = 1 AND period_end = make_date(year(period_start), 12, 31) THEN 'year'
    ELSE 'other'
  END AS period,
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
