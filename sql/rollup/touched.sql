-- Which stretch of which series has to be looked at again: where readings are new, and the whole of a series whose rules have changed.
-- touched: series_id, method, from_ms, to_ms (event times of the first and last changed reading), one row a UTC day
CREATE OR REPLACE TEMP TABLE touched AS
WITH changed AS (
  SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms
  FROM incoming
  GROUP BY series_id, event_time_ms // 86400000
  UNION ALL
  SELECT r.series_id, s.first_ms, s.last_ms FROM relearnt r JOIN series s USING (series_id)
  UNION ALL
  SELECT series_id, first_ms, last_ms FROM series WHERE stream_id IN (SELECT stream_id FROM restated_stream)
)
SELECT c.series_id, r.method, c.from_ms, c.to_ms
FROM changed c JOIN series_rule r USING (series_id)
UNION
-- A register that restarts every day tells how a lifetime register beside it grew over a silent midnight.
SELECT r.series_id, r.method, c.from_ms, c.to_ms
FROM changed c
JOIN series_rule d ON d.series_id = c.series_id AND d.method = 'daily_energy'
JOIN series_rule r ON r.device = d.device AND r.source = d.source AND r.method = 'total_energy'
WHERE c.to_ms >= r.first_ms AND c.from_ms <= r.last_ms;
