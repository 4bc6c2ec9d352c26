-- Steps of power and of interval readings beyond what is plausible and back; also the very first reading, as a step from itself.
INSERT INTO series_break (series_id, from_ms, from_value, to_ms, to_value)
SELECT series_id, coalesce(t0, t1), coalesce(v0, v1), t1, v1
FROM (
  SELECT s.*, abs(s.v1) * p.per_hour > p.max_power_w AS is_beyond,
    CASE WHEN s.t0 IS NULL AND s.t1 > p.first_ms THEN NULL ELSE coalesce(abs(s.v0) * p.per_hour > p.max_power_w, false) END AS was_beyond
  FROM raw_step s
  JOIN (
    SELECT series_id, first_ms, max_power_w, CASE WHEN method = 'interval_energy' THEN 3600000 / interval_ms ELSE 1 END AS per_hour
    FROM series_rule WHERE method IN ('power_curve', 'interval_energy') AND max_power_w IS NOT NULL
  ) AS p USING (series_id)
)
WHERE is_beyond <> was_beyond;
