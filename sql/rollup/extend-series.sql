-- Moves the first and last reading times of the touched series outwards.
UPDATE series
SET first_ms = least(series.first_ms, k.first_ms), last_ms = greatest(series.last_ms, k.last_ms)
FROM (SELECT stream_id, device, source, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM series_key GROUP BY ALL) AS k
WHERE series.stream_id = k.stream_id AND series.device = k.device AND series.source = k.source
  AND (k.first_ms < series.first_ms OR k.last_ms > series.last_ms);
