-- Readings of the troubled series in context, without the excursions that are left out.
-- kept_reading: series_id, event_time_ms, value
CREATE OR REPLACE TEMP TABLE kept_reading AS
SELECT r.series_id, r.event_time_ms, r.value
FROM context_reading($low_ms::BIGINT, $high_ms::BIGINT) AS r
WHERE r.series_id IN (SELECT series_id FROM troubled)
  AND NOT EXISTS (
    SELECT 1 FROM energy_event e
    WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms);
