-- The new readings, one for each series and event time.
-- incoming: series_id, event_time_ms, value, message_id, stream_offset, batch_id, times (how often it came)
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT s.series_id, e.event_time_ms,
  any_value(e.value) AS value, max(e.message_id) AS message_id, max(e.stream_offset) AS stream_offset, max(e.batch_id) AS batch_id, count(*) AS times
FROM extracted e
JOIN series_key k ON k.stream_id = e.stream_id AND k.device = e.device AND k.source_id = e.source_id
JOIN series s ON s.stream_id = k.stream_id AND s.device = k.device AND s.source = k.source
WHERE e.reason IS NULL
GROUP BY s.series_id, e.event_time_ms;
