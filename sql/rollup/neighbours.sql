-- The readings next to each probed stretch: the last one before it and the first one after it, where they lie within the bounds.
-- Excursions that have been left out (glitches, spikes) do not count. $low_ms, $high_ms: how far is looked.
-- neighbour: series_id, from_ms, to_ms, prev_ms, next_ms
CREATE OR REPLACE TEMP TABLE neighbour AS
SELECT
  p.series_id, p.from_ms, p.to_ms,
  max(r.event_time_ms) FILTER (r.event_time_ms < p.from_ms) AS prev_ms,
  min(r.event_time_ms) FILTER (r.event_time_ms > p.to_ms) AS next_ms
FROM probe p
LEFT JOIN (
  SELECT series_id, event_time_ms FROM reading r
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND NOT EXISTS (
      SELECT 1 FROM energy_event e
      WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms)
) AS r ON r.series_id = p.series_id AND (r.event_time_ms < p.from_ms OR r.event_time_ms > p.to_ms)
GROUP BY p.series_id, p.from_ms, p.to_ms;
