-- Finds the neighbours that are missing, where they lie within the bounds. Excursions that have been left out (glitches, spikes) do not
-- count. $low_ms, $high_ms: how far is looked.
UPDATE neighbour SET prev_ms = coalesce(neighbour.prev_ms, found.prev_ms), next_ms = found.next_ms
FROM (
  SELECT
    n.series_id,
    max(r.event_time_ms) FILTER (r.event_time_ms < n.from_ms) AS prev_ms,
    min(r.event_time_ms) FILTER (r.event_time_ms > n.to_ms) AS next_ms
  FROM neighbour n
  JOIN series_rule s USING (series_id)
  JOIN reading r ON r.series_id = n.series_id AND (r.event_time_ms < n.from_ms OR r.event_time_ms > n.to_ms)
  WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
    AND ((n.prev_ms IS NULL AND s.first_ms < n.from_ms) OR (n.next_ms IS NULL AND s.last_ms > n.to_ms))
    AND NOT EXISTS (
      SELECT 1 FROM energy_event e
      WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms)
  GROUP BY n.series_id
) AS found
WHERE neighbour.series_id = found.series_id;
