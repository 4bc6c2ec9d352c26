-- Days of budgets ("meter_day": see report/budget-days) as rows, with how a meter is called ($named_meters). budget_wh, period_wh: Wh.
SELECT d.day, d.key AS meter, n.meter_name, $scenario AS scenario, d.energy_wh AS budget_wh, d.period_start, d.period_end, d.period_wh,
  d.revision, d.uploaded_at
FROM meter_day AS d
LEFT JOIN (
  SELECT named->>'id' AS key, named->>'name' AS meter_name
  FROM (SELECT unnest(from_json($named_meters, '["JSON"]')) AS named)
) AS n USING (key)
