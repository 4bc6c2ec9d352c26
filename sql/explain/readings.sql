-- Everything that was received of a series ($series_id: its stream's $field of $device and $source) between two instants ($low_ms, $high_ms,
-- both included) and what became of it, in order of time. Of more than $rows_max, what was not used and the two ends are left; readings: how many there are.
SELECT f.event_time_ms::DOUBLE AS event_time_ms, f.value, f.fate, f.reason, f.detail, f.batch_id, b.landed_at_ms::DOUBLE AS landed_at_ms,
  (count(*) OVER ())::INTEGER AS readings
FROM (
  SELECT r.event_time_ms, r.value,
    coalesce((SELECT any_value(e.kind) FROM energy_event e
      WHERE e.series_id = r.series_id AND e.kind IN ('glitch', 'spike') AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms), 'used') AS fate,
    NULL AS reason, NULL AS detail, r.batch_id, r.stream_offset
  FROM reading r
  WHERE r.series_id = $series_id AND r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  SELECT s.event_time_ms, s.value, CASE WHEN s.value = r.value THEN 'repeated' ELSE 'revised' END, NULL, NULL, s.batch_id, s.stream_offset
  FROM superseded_reading s
  JOIN reading r ON r.series_id = s.series_id AND r.event_time_ms = s.event_time_ms
  WHERE s.series_id = $series_id AND s.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  -- Of what was rejected some is kept.
  SELECT q.kept.event_time_ms, NULL, 'rejected', q.reason, q.kept."text", q.kept.batch_id, q.kept.stream_offset
  FROM (
    SELECT reason, unnest(samples) AS kept FROM rejected_reading
    WHERE device = $device::UUID AND source = $source AND field = $field AND first_ms <= $high_ms::BIGINT AND last_ms >= $low_ms::BIGINT
  ) AS q
  WHERE q.kept.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS f
LEFT JOIN batch b USING (batch_id)
QUALIFY f.fate NOT IN ('used', 'repeated')
  OR least(row_number() OVER (ORDER BY f.event_time_ms), row_number() OVER (ORDER BY f.event_time_ms DESC)) <= $rows_max::INTEGER // 2
ORDER BY f.event_time_ms, f.fate = 'used', f.stream_offset, f.batch_id
LIMIT 2 * $rows_max::INTEGER;
