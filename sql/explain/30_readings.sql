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
FROM reading rd
JOIN scope sc USING (series_id)
WHERE rd.series_id = $series_id AND rd.event_time_ms BETWEEN sc.first_ms AND sc.last_ms
  AND NOT EXISTS (
    SELECT 1 FROM energy_event ev
    WHERE ev.series_id = rd.series_id AND is_left_out(ev.kind) AND rd.event_time_ms BETWEEN ev.from_ms AND ev.to_ms
  );

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
SELECT received.event_time_ms::DOUBLE AS event_time_ms, received.value, received.fate, received.reason, received.detail,
  received.batch_id, bt.landed_at_ms::DOUBLE AS landed_at_ms,
  (count(*) OVER ())::INTEGER AS readings
FROM (
  SELECT rd.event_time_ms, rd.value,
    coalesce((
      SELECT any_value(ev.kind) FROM energy_event ev
      WHERE ev.series_id = rd.series_id AND is_left_out(ev.kind) AND rd.event_time_ms BETWEEN ev.from_ms AND ev.to_ms
    ), 'used') AS fate,
    rd.batch_id, rd.stream_offset
  FROM reading rd
  WHERE rd.series_id = $series_id AND rd.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT xr.event_time_ms, xr.value, 'excluded' AS fate, xr.batch_id, xr.stream_offset
  FROM excluded_reading xr
  WHERE xr.series_id = $series_id AND xr.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT sup.event_time_ms, sup.value,
    CASE WHEN sup.value = kr.value THEN 'repeated' ELSE 'revised' END AS fate, sup.batch_id, sup.stream_offset
  FROM superseded_reading sup
  JOIN known_reading kr ON kr.series_id = sup.series_id AND kr.event_time_ms = sup.event_time_ms
  WHERE sup.series_id = $series_id AND sup.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  -- Only samples of rejected readings are stored.
  SELECT rejected.sample.event_time_ms, 'rejected' AS fate, rejected.reason, rejected.sample."text" AS detail,
    rejected.sample.batch_id, rejected.sample.stream_offset
  FROM (
    SELECT reason, unnest(samples) AS sample FROM rejected_reading
    WHERE device = $device::UUID AND ($source IS NULL OR source = $source) AND field = $field
      AND first_ms <= $high_ms::BIGINT AND last_ms >= $low_ms::BIGINT
  ) AS rejected
  WHERE rejected.sample.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS received
LEFT JOIN batch bt USING (batch_id)
QUALIFY received.fate NOT IN ('used', 'repeated')
  OR least(
    row_number() OVER (ORDER BY received.event_time_ms), row_number() OVER (ORDER BY received.event_time_ms DESC)
  ) <= $rows_max::INTEGER // 2
ORDER BY received.event_time_ms, received.fate = 'used', received.stream_offset, received.batch_id
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
  CASE
    WHEN sr.net THEN NULL
    WHEN is_register(sr.method) THEN power_limit(sr.max_power_w, sd.learnt_power_w)
    ELSE coalesce(sr.max_power_w, sd.learnt_power_w)
  END AS max_power_w,
  sd.learnt_power_w,
  CASE
    WHEN sr.max_power_w IS NULL AND sd.usual_power_w IS NOT NULL
      THEN power_limit_after_reset(sr.max_power_w, sd.learnt_power_w, sd.usual_power_w)
  END AS max_power_after_reset_w,
  jitter(sr.jitter_wh, sd.learnt_resolution) AS jitter_wh, sr.modulus_wh,
  reading_interval(sr.interval_ms, sd.learnt_step_ms)::DOUBLE AS interval_ms,
  max_gap(sr.max_gap_ms, sd.learnt_step_ms)::DOUBLE AS max_gap_ms, sr.net,
  sr.max_power_w AS configured_power_w, sr.jitter_wh AS configured_jitter_wh,
  sr.interval_ms::DOUBLE AS configured_interval_ms, sr.max_gap_ms::DOUBLE AS configured_gap_ms,
  sd.learnt_resolution AS resolution, sd.learnt_step_ms::DOUBLE AS step_ms,
  learnt_from.days::INTEGER AS days, learnt_from.first_day, learnt_from.last_day
FROM series_rule sr
LEFT JOIN series_day sd ON sd.series_id = sr.series_id AND sd.utc_day = $utc_day
CROSS JOIN (
  SELECT count(*) AS days, ('1970-01-01'::DATE + min(utc_day))::VARCHAR AS first_day,
    ('1970-01-01'::DATE + max(utc_day))::VARCHAR AS last_day
  FROM series_day WHERE series_id = $series_id AND utc_day BETWEEN $utc_day - limit_days() + 1 AND $utc_day
) AS learnt_from
WHERE sr.series_id = $series_id;
