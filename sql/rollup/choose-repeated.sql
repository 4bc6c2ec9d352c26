-- Of repeated readings the one that counts.
UPDATE incoming SET value = r.value, message_id = r.message_id, stream_offset = r.stream_offset, batch_id = r.batch_id
FROM repeated r
WHERE r.place = 1 AND incoming.series_id = r.series_id AND incoming.event_time_ms = r.event_time_ms;
