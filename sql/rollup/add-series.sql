-- Registers series that appear for the first time.
INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
SELECT
  (SELECT coalesce(max(series_id), 0) FROM series) + row_number() OVER (ORDER BY stream_id, device, source),
  stream_id, device, source, min(first_ms), max(last_ms)
FROM series_key k
WHERE NOT EXISTS (SELECT 1 FROM series s WHERE s.stream_id = k.stream_id AND s.device = k.device AND s.source = k.source)
GROUP BY stream_id, device, source;
