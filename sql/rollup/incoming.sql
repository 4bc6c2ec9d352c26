-- The new readings, one for each series and event time: of several the highest offset wins, whatever order they came in.
-- incoming: series_id, event_time_ms, value, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT
  s.series_id, e.event_time_ms,
  arg_max(e.value, (coalesce(e.stream_offset, 0), e.batch_id)) AS value,
  max(e.stream_offset) AS stream_offset,
  arg_max(e.batch_id, (coalesce(e.stream_offset, 0), e.batch_id)) AS batch_id
FROM extracted e
JOIN series s ON s.stream_id = e.stream_id AND s.device = e.device AND s.source = e.source
WHERE e.reason IS NULL
GROUP BY s.series_id, e.event_time_ms;
