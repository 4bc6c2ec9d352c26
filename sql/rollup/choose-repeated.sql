-- Of several new readings of one series and event time the highest offset wins, whatever order they came in.
UPDATE incoming SET value = c.value, batch_id = c.batch_id
FROM (
  SELECT s.series_id, e.event_time_ms,
    arg_max(e.value, (coalesce(e.stream_offset, 0), e.batch_id)) AS value,
    arg_max(e.batch_id, (coalesce(e.stream_offset, 0), e.batch_id)) AS batch_id
  FROM extracted e
  JOIN series_key k ON k.stream_id = e.stream_id AND k.device = e.device AND k.source_id = e.source_id
  JOIN series s ON s.stream_id = k.stream_id AND s.device = k.device AND s.source = k.source
  JOIN incoming i ON i.series_id = s.series_id AND i.event_time_ms = e.event_time_ms AND i.times > 1
  WHERE e.reason IS NULL
  GROUP BY s.series_id, e.event_time_ms
) AS c
WHERE incoming.series_id = c.series_id AND incoming.event_time_ms = c.event_time_ms;
