-- Silences of lifetime registers, as they are stored, that the power in context beside them shapes: intervals that are silent as a whole.
-- $low_ms, $high_ms: bounds of the context.
-- shaped: series_id, from_ms, to_ms
CREATE OR REPLACE TEMP TABLE shaped AS
SELECT i.series_id, min(i.interval_start_ms) AS from_ms, max(i.interval_start_ms) AS to_ms
FROM context c
JOIN series_rule power ON power.series_id = c.series_id
JOIN series_rule own ON own.device = power.device AND own.source = power.source AND own.method = 'total_energy' AND NOT own.net
JOIN interval_energy i ON i.series_id = own.series_id AND i.interval_start_ms >= c.lo_ms AND i.interval_start_ms < c.hi_ms
LEFT JOIN context done ON done.series_id = i.series_id AND i.interval_start_ms >= done.lo_ms AND i.interval_start_ms < done.hi_ms
WHERE c.method = 'power_curve' AND done.series_id IS NULL AND i.flags & 49152 = 49152 AND i.interval_start_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
GROUP BY i.series_id;
