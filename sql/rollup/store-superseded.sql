-- Keeps the readings that do not count, to be explained.
INSERT INTO superseded_reading (series_id, event_time_ms, value, message_id, stream_offset, batch_id)
SELECT series_id, event_time_ms, value, message_id, stream_offset, batch_id FROM superseded;
