-- New readings that share their series and event time with others: the one with the highest message id counts, then the highest offset,
-- whatever order they came in.
-- repeated: series_id, event_time_ms, value, message_id, stream_offset, batch_id, place (1: counts)
CREATE OR REPLACE TEMP TABLE repeated AS
SELECT s.series_id, e.event_time_ms, e.value, e.message_id, e.stream_offset, e.batch_id,
  row_number() OVER (
    PARTITION BY s.series_id, e.event_time_ms
    ORDER BY coalesce(e.message_id, -1) DESC, coalesce(e.stream_offset, 0) DESC, e.batch_id DESC, e.value DESC
  ) AS place
FROM extracted e
JOIN series_key k ON k.stream_id = e.stream_id AND k.device = e.device AND k.source_id = e.source_id
JOIN series s ON s.stream_id = k.stream_id AND s.device = k.device AND s.source = k.source
JOIN incoming i ON i.series_id = s.series_id AND i.event_time_ms = e.event_time_ms AND i.times > 1
WHERE e.reason IS NULL;
