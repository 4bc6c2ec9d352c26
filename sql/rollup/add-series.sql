-- Registers series that appear for the first time.
INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
SELECT
  (SELECT coalesce(max(series_id), 0) FROM series) + row_number() OVER (ORDER BY stream_id, device, source),
  stream_id, device, source, min(event_time_ms), max(event_time_ms)
FROM extracted e
WHERE reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM series s WHERE s.stream_id = e.stream_id AND s.device = e.device AND s.source = e.source)
GROUP BY stream_id, device, source;
