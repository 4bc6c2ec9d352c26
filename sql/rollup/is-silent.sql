-- Whether no touched series has a reading between two times. $low_ms, $high_ms: those times.
SELECT NOT EXISTS (
  SELECT 1 FROM reading
  WHERE event_time_ms > $low_ms::BIGINT AND event_time_ms < $high_ms::BIGINT AND series_id IN (SELECT series_id FROM touched)
) AS silent;
