-- Where readings are new, by UTC day, and the whole of the series whose settings have changed.
-- changed: series_id, from_ms, to_ms (event times of the first and last changed reading), is_new (there is something to learn from it)
CREATE OR REPLACE TEMP TABLE changed AS
SELECT series_id, min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms, true AS is_new
FROM incoming
GROUP BY series_id, event_time_ms // 86400000
UNION ALL
SELECT s.series_id, s.first_ms, s.last_ms, NOT EXISTS (SELECT 1 FROM series_day d WHERE d.series_id = s.series_id)
FROM series s WHERE s.stream_id IN (SELECT stream_id FROM restated_stream);
