-- Keeps the rejected readings of the new batches with their reasons. $now_ms: the time it is noted at.
INSERT INTO quarantine (batch_id, stream_offset, stage, reason, detail, device, source, field, event_time_ms, quarantined_at_ms)
SELECT batch_id, stream_offset, 'rollup', reason, left(text, 200), device, source, field, event_time_ms, $now_ms::BIGINT
FROM extracted
WHERE reason IS NOT NULL;
