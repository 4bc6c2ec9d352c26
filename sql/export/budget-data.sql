-- Days of budgets ("meter_day": see report/budget-days) as rows. budget_wh, period_wh: Wh.
SELECT day, key AS meter, scenario, energy_wh AS budget_wh, period_start, period_end, period_wh, revision, uploaded_at
FROM meter_day
