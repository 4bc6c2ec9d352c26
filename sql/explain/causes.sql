-- The batches after $after_batch up to $upto_batch that brought readings of a device ($device) and source ($source), in order, those among
-- them that count no more: they did when the version was computed. $low_ms,
-- $high_ms: the day and the readings around it; $end_ms: when the day was over; $from_ms, $to_ms: which
-- readings are looked at.
SELECT r.batch_id, b.origin, b.landed_at_ms::DOUBLE AS landed_at_ms, r.readings::INTEGER AS readings,
  CASE WHEN b.landed_at_ms > $end_ms::BIGINT THEN r.readings_in ELSE 0 END::INTEGER AS late_readings,
  r.from_ms::DOUBLE AS from_ms, r.to_ms::DOUBLE AS to_ms, r.readings_in > 0 AS touches_day
FROM (
  SELECT batch_id, count(*) AS readings, count(*) FILTER (event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT) AS readings_in,
    min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms
  FROM (
    SELECT series_id, event_time_ms, batch_id FROM known_reading
    UNION ALL
    SELECT series_id, event_time_ms, batch_id FROM superseded_reading
  )
  WHERE series_id IN (SELECT series_id FROM series_rule WHERE device = $device::UUID AND source = $source)
    AND event_time_ms BETWEEN $from_ms::BIGINT AND $to_ms::BIGINT AND batch_id > $after_batch::BIGINT AND batch_id <= $upto_batch::BIGINT
  GROUP BY batch_id
) AS r
LEFT JOIN batch b USING (batch_id)
ORDER BY r.batch_id;
