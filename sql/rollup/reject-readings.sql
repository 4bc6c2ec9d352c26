-- Keeps the rejected readings of the new batches with their reasons. $now_ms: the time it is noted at.
INSERT INTO quarantine (batch_id, stream_offset, stage, reason, detail, device, source, field, event_time_ms, quarantined_at_ms)
SELECT e.batch_id, e.stream_offset, 'rollup', e.reason, left(e.text, 200), e.device, coalesce(n.name, 'default'), s.field, e.event_time_ms,
  $now_ms::BIGINT
FROM extracted e
JOIN stream_setting s USING (stream_id)
LEFT JOIN name n ON n.name_id = e.source_id
WHERE e.reason IS NOT NULL;
