-- Series whose new readings all come after the last one that is known: they can be computed on from there, instead of from the start of its
-- interval. Not where the last reading was left out of the index or fell, and not where the rules look at the whole day or at what comes next.
-- appended: series_id, prev_ms (the last known reading), from_ms (the first new one)
INSERT INTO appended
WITH later AS MATERIALIZED (
  SELECT s.series_id, t.method, s.last_ms AS prev_ms, n.from_ms
  FROM (SELECT series_id, min(event_time_ms) AS from_ms FROM incoming GROUP BY series_id) AS n
  JOIN series s USING (series_id)
  JOIN stream_setting t USING (stream_id)
  WHERE n.from_ms > s.last_ms AND NOT t.within_day
    AND (t.method = 'total_energy' OR (t.method = 'power_curve' AND t.sampling IN ('instantaneous', 'on_change')))
)
SELECT series_id, prev_ms, from_ms FROM later l
WHERE method = 'power_curve'
  AND NOT EXISTS (SELECT 1 FROM energy_event e WHERE e.series_id = l.series_id AND e.to_ms = l.prev_ms)
UNION ALL
SELECT l.series_id, l.prev_ms, l.from_ms
FROM later l
JOIN interval_energy e ON e.series_id = l.series_id AND e.interval_start_ms = l.prev_ms // 900000 * 900000 AND e.last_ms = l.prev_ms
WHERE l.method = 'total_energy'
  AND NOT EXISTS (SELECT 1 FROM series_break b WHERE b.series_id = l.series_id AND b.to_ms = l.prev_ms AND b.to_value < b.from_value);
