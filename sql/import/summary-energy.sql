-- The energy by month and source of the devices and sources of some batches ($batches), on the local days from $first_day to $last_day, both
-- included. energy_wh: Wh; days: days on which any of the devices has energy.
WITH own AS (
  SELECT m.device, coalesce(n.name, 'default') AS source
  FROM message m LEFT JOIN name n ON n.name_id = m.source_id
  WHERE m.batch_id IN (SELECT unnest($batches::BIGINT[])) AND m.kind = 0
  UNION
  SELECT s.device, s.source FROM reading r JOIN series s USING (series_id) WHERE r.batch_id IN (SELECT unnest($batches::BIGINT[]))
)
SELECT strftime(d.day, '%Y-%m') AS month, d.source, sum(d.energy_wh)::DOUBLE AS energy_wh, count(DISTINCT d.device)::DOUBLE AS devices,
  count(DISTINCT d.day)::DOUBLE AS days
FROM daily_energy d
JOIN own USING (device, source)
WHERE d.day BETWEEN $first_day::DATE AND $last_day::DATE
GROUP BY month, d.source
ORDER BY month, d.source;
