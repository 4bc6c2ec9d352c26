-- All breaks of the series in context that have any, with the rules to judge them by. Registers that restart every day are judged by
-- themselves each day (day_ms, its start; null for the others), so only the breaks in context are read. A series without breaks that has
-- events stands here once, with nulls. first_*, before_*: the first reading of such a day and the one before it, of an earlier day.
WITH morning AS (
  SELECT s.series_id, d.start_ms, s.t0 AS before_ms, s.v0 AS before_value, s.t1 AS first_ms, s.v1 AS first_value
  FROM (SELECT * FROM raw_step WHERE t0 IS NOT NULL AND series_id IN (SELECT series_id FROM context WHERE method = 'daily_energy')) AS s
  JOIN interval_day d ON d.interval_index = s.t1 // 900000
  WHERE s.t0 < d.start_ms
)
SELECT
  r.series_id, r.method, r.max_power_w, r.recount_power_w, r.configured_power_w IS NULL AS learnt, r.jitter_wh, r.modulus_wh, r.first_ms AS series_ms, r.last_ms,
  b.from_ms, b.from_value, b.to_ms, b.to_value, CASE WHEN r.method = 'daily_energy' THEN d.start_ms END AS day_ms,
  m.before_ms, m.before_value, m.first_ms, m.first_value
FROM context c
JOIN series_rule r USING (series_id)
LEFT JOIN series_break b ON b.series_id = r.series_id
  AND (r.method <> 'daily_energy' OR (b.to_ms >= c.lo_ms AND b.to_ms < c.hi_ms))
LEFT JOIN interval_day d ON d.interval_index = b.to_ms // 900000
LEFT JOIN morning m ON m.series_id = r.series_id AND m.start_ms = d.start_ms
WHERE b.from_ms IS NOT NULL OR EXISTS (SELECT 1 FROM energy_event e WHERE e.series_id = r.series_id)
ORDER BY r.series_id, b.to_ms;
