-- Moves the neighbour after a stretch of a lifetime register on to the first reading that passes the high-water mark of the stretch, as it is
-- now or as it was stored: until then the mark is held above the readings. Or to the first one that is further below the next reading than the
-- jitter: there every mark has given way.
-- $low_ms, $high_ms: bounds of the stretches and their neighbours.
UPDATE neighbour SET next_ms = held.next_ms
FROM (
  WITH late AS (
    SELECT n.series_id, coalesce(n.prev_ms, n.from_ms) AS prev_ms, n.next_ms, r.jitter_wh
    FROM neighbour n JOIN series_rule r USING (series_id)
    WHERE n.next_ms IS NOT NULL AND r.method = 'total_energy' AND NOT r.net AND r.jitter_wh > 0
  ), near AS MATERIALIZED (
    SELECT l.*, r.event_time_ms, r.value
    FROM late l JOIN reading r ON r.series_id = l.series_id AND r.event_time_ms BETWEEN l.prev_ms AND l.next_ms
    WHERE r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
      AND NOT EXISTS (
        SELECT 1 FROM energy_event e
        WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms)
  ), next_value AS (
    SELECT series_id, next_ms, jitter_wh, max_by(value, event_time_ms) AS value FROM near GROUP BY ALL
  ), mark AS (
    SELECT n.series_id, n.next_ms, n.value - n.jitter_wh AS low_value, least(max(m.value), n.value + n.jitter_wh) AS value
    FROM next_value n
    JOIN (
      SELECT series_id, value FROM near
      UNION ALL
      SELECT l.series_id, i.last_value
      FROM late l JOIN interval_energy i ON i.series_id = l.series_id AND i.interval_start_ms BETWEEN l.prev_ms - 900000 AND l.next_ms
      WHERE i.interval_start_ms BETWEEN $low_ms::BIGINT - 900000 AND $high_ms::BIGINT
    ) AS m ON m.series_id = n.series_id AND m.value > n.value
    GROUP BY n.series_id, n.next_ms, n.value, n.jitter_wh
  )
  SELECT m.series_id,
    coalesce(min(r.event_time_ms) FILTER (r.value >= m.value OR r.value < m.low_value), max(r.event_time_ms)) AS next_ms
  FROM mark m JOIN reading r ON r.series_id = m.series_id AND r.event_time_ms > m.next_ms
  WHERE NOT EXISTS (
    SELECT 1 FROM energy_event e
    WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms)
  GROUP BY m.series_id
) AS held
WHERE neighbour.series_id = held.series_id;
