-- Steps of registers that no plain growth explains: a fall beyond the jitter, a rise beyond the most power that is plausible, the first
-- step away from zero, a declared change of the register. A register that restarts every day is only looked at inside a day.
INSERT INTO series_break (series_id, from_ms, from_value, to_ms, to_value)
WITH candidate AS MATERIALIZED (
  SELECT s.series_id, s.method, s.t0, s.v0, s.t1, s.v1
  FROM raw_step s
  JOIN series_rule r USING (series_id)
  WHERE s.method IN ('total_energy', 'daily_energy') AND s.t0 IS NOT NULL AND NOT r.net
    AND (s.v1 < s.v0 - r.jitter_wh
      OR s.v1 - s.v0 > r.max_power_w * (s.t1 - s.t0) / 3600000 + r.jitter_wh
      OR (s.v0 = 0 AND s.v1 > 0))
  UNION
  SELECT s.series_id, s.method, s.t0, s.v0, s.t1, s.v1
  FROM raw_step s
  JOIN register_change g ON g.series_id = s.series_id AND g.at_ms > s.t0 AND g.at_ms <= s.t1
)
SELECT series_id, t0, v0, t1, v1 FROM candidate WHERE method = 'total_energy'
UNION ALL
SELECT c.series_id, c.t0, c.v0, c.t1, c.v1
FROM candidate c
JOIN interval_day d0 ON d0.interval_index = c.t0 // 900000
JOIN interval_day d1 ON d1.interval_index = c.t1 // 900000
WHERE c.method = 'daily_energy' AND d0.day = d1.day;
