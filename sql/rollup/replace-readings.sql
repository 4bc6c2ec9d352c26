-- Removes stored readings that a newer one of the same series and event time replaces. $low_ms, $high_ms as in drop-known.
DELETE FROM reading
USING incoming i
WHERE reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND reading.series_id = i.series_id
  AND reading.event_time_ms = i.event_time_ms;
