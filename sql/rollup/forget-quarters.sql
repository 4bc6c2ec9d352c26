-- Removes what was known of the quarters that have been learnt again. $low_ms, $high_ms: bounds of all of them.
DELETE FROM series_quarter USING quarter_now n
WHERE series_quarter.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND series_quarter.series_id = n.series_id AND series_quarter.interval_start_ms = n.interval_start_ms;
