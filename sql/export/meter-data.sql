-- Days of meters ("meter_day": see report/uploaded-days) as rows, with where their energy comes from ("member": see report/members).
-- energy_wh: Wh, null where nobody knows it; coverage: share of the day, 0 to 1.
SELECT d.day, d.key AS meter, d.energy_wh, d.quality, d.flags, d.coverage::DOUBLE AS coverage, d.revision,
  CASE WHEN m.device IS NULL THEN 'uploaded' ELSE 'derived' END AS kind, m.device, m.source
FROM meter_day AS d
JOIN member AS m USING (key)
