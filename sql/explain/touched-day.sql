-- The day of a device and source, for rollup/day-candidates.
INSERT INTO touched_day VALUES ($device::UUID, $source, $day::DATE, $start_ms::BIGINT, $end_ms::BIGINT);
