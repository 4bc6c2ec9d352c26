-- Removes what was learnt before from the intervals in context. $low_ms, $high_ms: bounds of all of them.
DELETE FROM series_quarter USING context c
WHERE series_quarter.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND series_quarter.series_id = c.series_id AND c.learns
  AND series_quarter.interval_start_ms >= c.lo_ms AND series_quarter.interval_start_ms < c.hi_ms;
