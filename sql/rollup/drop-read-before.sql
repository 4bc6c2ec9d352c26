-- Of messages of the lake that are read again: takes out of extracted what was made of them before, readings that count, that do not, and that
-- were rejected, so that it is kept once. A message is known by its offset and event time. $low_ms, $high_ms: their event times.
DELETE FROM extracted USING (
  SELECT s.stream_id, r.event_time_ms, r.stream_offset, NULL AS reason
  FROM reading r JOIN series s USING (series_id)
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  SELECT s.stream_id, r.event_time_ms, r.stream_offset, NULL
  FROM superseded_reading r JOIN series s USING (series_id)
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  SELECT t.stream_id, q.event_time_ms, q.stream_offset, q.reason
  FROM quarantine q JOIN stream_setting t USING (field)
  WHERE q.stage = 'rollup' AND q.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS known
WHERE extracted.batch_id IN (SELECT batch_id FROM archived_message)
  AND extracted.stream_id = known.stream_id
  AND extracted.event_time_ms = known.event_time_ms
  AND extracted.stream_offset = known.stream_offset
  AND extracted.reason IS NOT DISTINCT FROM known.reason;
