-- The readings of a traced series ($series_id) that the day ($start_ms, $end_ms) takes: those in it, and the nearest that count on either
-- side; null where there is none.
SELECT max(event_time_ms) FILTER (event_time_ms <= $start_ms::BIGINT)::DOUBLE AS low_ms,
  min(event_time_ms) FILTER (event_time_ms >= $end_ms::BIGINT)::DOUBLE AS high_ms
FROM reading r
JOIN scope c USING (series_id)
WHERE r.series_id = $series_id AND r.event_time_ms BETWEEN c.first_ms AND c.last_ms
  AND NOT EXISTS (
    SELECT 1 FROM energy_event e
    WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms);
