-- 30 Readings: which readings were received, which of them are used, and the limits.
--
-- Reads   reading, known_reading, excluded_reading, superseded_reading, rejected_reading, energy_event,
--         batch, series_day; scope, series_rule (temporary).
-- Writes  nothing. Values in Wh or W, instants in ms since 1970.
-- Why     Every reading that is not used is shown with its reason.

-- name: find_bracket
-- Returns the bounds of the readings of a traced series ($series_id) from which its energy of a day
-- ($start_ms, $end_ms) is computed.
-- Columns:
--   low_ms    the last used reading at or before the start of the day; null if there is none
--   high_ms   the first used reading at or after its end; null if there is none
SELECT max(event_time_ms) FILTER (event_time_ms <= $start_ms::BIGINT)::DOUBLE AS low_ms,
  min(event_time_ms) FILTER (event_time_ms >= $end_ms::BIGINT)::DOUBLE AS high_ms
FROM reading r
JOIN scope s USING (series_id)
WHERE r.series_id = $series_id AND r.event_time_ms BETWEEN s.first_ms AND s.last_ms
  AND NOT EXISTS (
    SELECT 1 FROM energy_event e
    WHERE e.series_id = r.series_id AND is_left_out(e.kind) AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms);

-- name: find_readings
-- Returns all received readings of a series between two instants ($low_ms, $high_ms, both included), in
-- order. If there are more than $rows_max, the unused ones and both ends remain.
-- $series_id, $field, $device: the series. $source: null if the stream books messages of any source as one.
-- Columns:
--   event_time_ms, value
--   fate       used, or why it is not: the kind of an event, excluded, repeated, revised, rejected
--   reason     of a rejected reading
--   detail     of a rejected reading: the received value
--   batch_id, landed_at_ms
--   readings   number of all readings
SELECT f.event_time_ms::DOUBLE AS event_time_ms, f.value, f.fate, f.reason, f.detail, f.batch_id, b.landed_at_ms::DOUBLE AS landed_at_ms,
  (count(*) OVER ())::INTEGER AS readings
FROM (
  SELECT r.event_time_ms, r.value,
    coalesce((SELECT any_value(e.kind) FROM energy_event e
      WHERE e.series_id = r.series_id AND is_left_out(e.kind) AND r.event_time_ms BETWEEN e.from_ms AND e.to_ms), 'used') AS fate,
    NULL AS reason, NULL AS detail, r.batch_id, r.stream_offset
  FROM reading r
  WHERE r.series_id = $series_id AND r.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  SELECT x.event_time_ms, x.value, 'excluded', NULL, NULL, x.batch_id, x.stream_offset
  FROM excluded_reading x
  WHERE x.series_id = $series_id AND x.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  SELECT s.event_time_ms, s.value, CASE WHEN s.value = r.value THEN 'repeated' ELSE 'revised' END, NULL, NULL, s.batch_id, s.stream_offset
  FROM superseded_reading s
  JOIN known_reading r ON r.series_id = s.series_id AND r.event_time_ms = s.event_time_ms
  WHERE s.series_id = $series_id AND s.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL
  -- Only samples of rejected readings are stored.
  SELECT q.kept.event_time_ms, NULL, 'rejected', q.reason, q.kept."text", q.kept.batch_id, q.kept.stream_offset
  FROM (
    SELECT reason, unnest(samples) AS kept FROM rejected_reading
    WHERE device = $device::UUID AND ($source IS NULL OR source = $source) AND field = $field
      AND first_ms <= $high_ms::BIGINT AND last_ms >= $low_ms::BIGINT
  ) AS q
  WHERE q.kept.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS f
LEFT JOIN batch b USING (batch_id)
QUALIFY f.fate NOT IN ('used', 'repeated')
  OR least(row_number() OVER (ORDER BY f.event_time_ms), row_number() OVER (ORDER BY f.event_time_ms DESC)) <= $rows_max::INTEGER // 2
ORDER BY f.event_time_ms, f.fate = 'used', f.stream_offset, f.batch_id
LIMIT 2 * $rows_max::INTEGER;

-- name: find_events
-- Returns the events of a register ($series_id) between two instants ($low_ms, $high_ms).
SELECT kind, from_ms::DOUBLE AS from_ms, to_ms::DOUBLE AS to_ms, value_before, value_after, energy_wh
FROM energy_event
WHERE series_id = $series_id AND to_ms >= $low_ms::BIGINT AND from_ms <= $high_ms::BIGINT
ORDER BY to_ms, from_ms;

-- name: find_limits
-- Returns the limits of a series ($series_id) on a UTC day ($utc_day), and from how many days they
-- are learnt: the days with readings among that day and the limit_days() - 1 days before.
SELECT
  CASE WHEN r.net THEN NULL WHEN is_register(r.method) THEN power_limit(r.max_power_w, l.learnt_power_w)
    ELSE coalesce(r.max_power_w, l.learnt_power_w) END AS max_power_w,
  l.learnt_power_w,
  CASE WHEN r.max_power_w IS NULL AND l.usual_power_w IS NOT NULL
    THEN power_limit_after_reset(r.max_power_w, l.learnt_power_w, l.usual_power_w) END AS max_power_after_reset_w,
  jitter(r.jitter_wh, l.learnt_resolution) AS jitter_wh, r.modulus_wh,
  reading_interval(r.interval_ms, l.learnt_step_ms)::DOUBLE AS interval_ms, max_gap(r.max_gap_ms, l.learnt_step_ms)::DOUBLE AS max_gap_ms, r.net,
  r.max_power_w AS configured_power_w, r.jitter_wh AS configured_jitter_wh, r.interval_ms::DOUBLE AS configured_interval_ms,
  r.max_gap_ms::DOUBLE AS configured_gap_ms,
  l.learnt_resolution AS resolution, l.learnt_step_ms::DOUBLE AS step_ms,
  d.days::INTEGER AS days, d.first_day, d.last_day
FROM series_rule r
LEFT JOIN series_day l ON l.series_id = r.series_id AND l.utc_day = $utc_day
CROSS JOIN (
  SELECT count(*) AS days, ('1970-01-01'::DATE + min(utc_day))::VARCHAR AS first_day, ('1970-01-01'::DATE + max(utc_day))::VARCHAR AS last_day
  FROM series_day WHERE series_id = $series_id AND utc_day BETWEEN $utc_day - limit_days() + 1 AND $utc_day
) AS d
WHERE r.series_id = $series_id;
