-- Removes the intervals that have been computed again. $low_ms, $high_ms: bounds of all of them.
DELETE FROM interval_energy USING context c
WHERE interval_energy.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  AND interval_energy.series_id = c.series_id
  AND interval_energy.interval_start_ms >= c.lo_ms AND interval_energy.interval_start_ms < c.hi_ms;
