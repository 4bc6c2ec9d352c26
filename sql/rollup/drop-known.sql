-- Takes out of incoming what changes nothing: the same value again, or one that a stored reading with a higher offset overrules.
-- $low_ms, $high_ms: bounds of incoming, so that only the stored readings around them are read.
DELETE FROM incoming
USING reading r
WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND r.series_id = incoming.series_id
  AND r.event_time_ms = incoming.event_time_ms
  AND (r.value = incoming.value OR coalesce(r.stream_offset, 0) > coalesce(incoming.stream_offset, 0));
