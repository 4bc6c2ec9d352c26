-- The versions of the days from $start_day up to, not including, $end_day (local days). energy_wh: Wh, null where a day was withdrawn;
-- coverage: share of the day, 0 to 1.
WITH chosen AS (
  SELECT * FROM daily_energy_history WHERE day >= $start_day::DATE AND day < $end_day::DATE
),
flag_set AS (
  SELECT c.flags, list(q.flag ORDER BY q.bit) AS names
  FROM (SELECT DISTINCT flags FROM chosen) c JOIN quality_flag q ON c.flags & q.bit <> 0
  GROUP BY c.flags
)
SELECT
  v.day,
  v.device,
  v.source,
  v.version,
  v.energy_wh,
  v.method,
  coalesce(f.names, []) AS flags,
  v.coverage,
  v.status,
  make_timestamptz(v.computed_at_ms * 1000) AS computed_at,
  v.causes,
  v.batch_id
FROM chosen v
LEFT JOIN flag_set f ON f.flags = v.flags
ORDER BY v.day, v.device, v.source, v.version, v.computed_at_ms
