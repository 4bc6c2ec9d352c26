-- Where readings are new, by UTC day, and the whole of the series whose settings have changed, as far as they reached by the old ones.
-- changed: series_id, from_ms, to_ms (event times of the first and last changed reading), is_new (there is something to learn from it)
CREATE OR REPLACE TEMP TABLE changed AS
SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms, true AS is_new
FROM incoming
GROUP BY series_id, event_time_ms // 86400000
UNION ALL
SELECT s.series_id, least(s.first_ms, i.low_ms), greatest(s.last_ms, i.high_ms),
  NOT EXISTS (SELECT 1 FROM series_day d WHERE d.series_id = s.series_id)
FROM (SELECT * FROM series WHERE stream_id IN (SELECT stream_id FROM restated_stream)) AS s
LEFT JOIN (
  SELECT series_id, min(interval_start_ms) AS low_ms, max(interval_start_ms) AS high_ms
  FROM interval_energy WHERE (SELECT count(*) FROM restated_stream) > 0
  GROUP BY series_id
) AS i USING (series_id);
