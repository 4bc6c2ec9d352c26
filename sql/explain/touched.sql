-- The day of every series of a device ($device) and source ($source), to be traced; $start_ms, $end_ms: bounds of the day.
-- asked: as in chapter 30 of the roll-up
CREATE OR REPLACE TEMP TABLE asked AS
SELECT series_id, $start_ms::BIGINT AS from_ms, $end_ms::BIGINT - 1 AS to_ms, false AS is_new
FROM series_rule WHERE device = $device::UUID AND source = $source;
