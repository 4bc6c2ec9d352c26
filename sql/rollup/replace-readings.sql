-- Removes stored readings that a newer one of the same series and event time replaces. $low_ms, $high_ms as in superseded.
DELETE FROM reading USING superseded s
WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND NOT s.is_new AND reading.series_id = s.series_id AND reading.event_time_ms = s.event_time_ms;
