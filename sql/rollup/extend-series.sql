-- Moves the first and last reading times of the touched series outwards.
UPDATE series
SET first_ms = least(series.first_ms, i.first_ms), last_ms = greatest(series.last_ms, i.last_ms)
FROM (SELECT series_id, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms FROM incoming GROUP BY series_id) AS i
WHERE series.series_id = i.series_id AND (i.first_ms < series.first_ms OR i.last_ms > series.last_ms);
