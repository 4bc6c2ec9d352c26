-- Steps of registers that no plain growth explains: a fall beyond the jitter, a rise beyond the most power that is plausible, the first
-- step away from zero, one that is back at once where the register was before a fall, a declared change of the register. A register that
-- restarts every day is only looked at inside a day.
INSERT INTO series_break (series_id, from_ms, from_value, to_ms, to_value)
WITH candidate AS MATERIALIZED (
  SELECT s.series_id, s.t0, s.v0, s.t1, s.v1
  FROM (SELECT * FROM raw_step WHERE is_suspect) AS s
  JOIN series_rule r USING (series_id)
  WHERE NOT r.net AND (s.v1 < s.v0 - r.jitter_wh
    OR s.v1 - s.v0 > least(r.max_power_w, r.recount_power_w) * (s.t1 - s.t0) / 3600000 + r.jitter_wh
    OR (s.v0 = 0 AND s.v1 > 0)
    OR (s.v0 < s.v_before - r.jitter_wh AND s.v1 >= s.v_before - r.jitter_wh))
  UNION
  SELECT s.series_id, s.t0, s.v0, s.t1, s.v1
  FROM (SELECT * FROM raw_step WHERE series_id IN (SELECT series_id FROM register_change)) AS s
  JOIN register_change g ON g.series_id = s.series_id AND g.at_ms > s.t0 AND g.at_ms <= s.t1
)
SELECT c.series_id, c.t0, c.v0, c.t1, c.v1
FROM candidate c
JOIN series_rule r USING (series_id)
LEFT JOIN interval_day d ON d.interval_index = c.t0 // 900000
WHERE r.method = 'total_energy' OR (r.method = 'daily_energy' AND c.t1 < d.end_ms);
