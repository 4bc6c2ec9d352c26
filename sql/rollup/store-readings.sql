-- Stores the new readings, by time so that later scans of a window touch few row groups.
INSERT INTO reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id
FROM incoming
ORDER BY event_time_ms, series_id;
