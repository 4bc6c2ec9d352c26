-- Daily energy from $start_day up to, not including, $end_day (local days), in the order in which the report answers.
-- energy_wh: Wh; coverage: share of the day, 0 to 1.
WITH chosen AS (
  SELECT * FROM daily_energy WHERE day >= $start_day::DATE AND day < $end_day::DATE
),
flag_set AS (
  SELECT c.flags, list(q.flag ORDER BY q.bit) AS names
  FROM (SELECT DISTINCT flags FROM chosen) c JOIN quality_flag q ON c.flags & q.bit <> 0
  GROUP BY c.flags
)
SELECT
  d.day,
  d.device,
  d.source,
  d.energy_wh,
  d.method,
  e.identity->>'table' AS "table",
  e.identity->>'field' AS field,
  d.stream_id,
  coalesce(f.names, []) AS flags,
  d.coverage,
  d.status,
  d.version,
  make_timestamptz(d.computed_at_ms * 1000) AS computed_at
FROM chosen d
LEFT JOIN energy_stream e USING (stream_id)
LEFT JOIN flag_set f ON f.flags = d.flags
ORDER BY d.day, d.device, d.source
