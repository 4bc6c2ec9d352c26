-- The day of every series of a device ($device) and source ($source), to be traced; $start_ms, $end_ms: bounds of the day.
-- touched: as in rollup/touched
CREATE OR REPLACE TEMP TABLE touched AS
SELECT series_id, method, $start_ms::BIGINT AS from_ms, $end_ms::BIGINT - 1 AS to_ms, false AS is_new
FROM series_rule WHERE device = $device::UUID AND source = $source;
