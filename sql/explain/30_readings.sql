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
FROM reading
JOIN scope USING (series_id)
WHERE reading.series_id = $series_id AND reading.event_time_ms BETWEEN scope.first_ms AND scope.last_ms
  AND NOT EXISTS (
    SELECT 1 FROM energy_event
    WHERE energy_event.series_id = reading.series_id AND is_left_out(energy_event.kind)
      AND reading.event_time_ms BETWEEN energy_event.from_ms AND energy_event.to_ms
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
WITH rejected AS (
  -- The samples of rejected readings. The other rejected readings are only counted.
  SELECT reason, unnest(samples) AS sample FROM rejected_reading
  WHERE device = $device::UUID AND ($source IS NULL OR source = $source) AND field = $field
    AND first_ms <= $high_ms::BIGINT AND last_ms >= $low_ms::BIGINT
), received AS (
  -- All received readings, with the fate of each.
  SELECT reading.event_time_ms, reading.value,
    coalesce((
      SELECT any_value(energy_event.kind) FROM energy_event
      WHERE energy_event.series_id = reading.series_id AND is_left_out(energy_event.kind)
        AND reading.event_time_ms BETWEEN energy_event.from_ms AND energy_event.to_ms
    ), 'used') AS fate,
    reading.batch_id, reading.stream_offset
  FROM reading
  WHERE reading.series_id = $series_id AND reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT event_time_ms, value, 'excluded' AS fate, batch_id, stream_offset
  FROM excluded_reading
  WHERE series_id = $series_id AND event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT superseded_reading.event_time_ms, superseded_reading.value,
    CASE WHEN superseded_reading.value = known_reading.value THEN 'repeated' ELSE 'revised' END AS fate,
    superseded_reading.batch_id, superseded_reading.stream_offset
  FROM superseded_reading
  JOIN known_reading
    ON known_reading.series_id = superseded_reading.series_id
    AND known_reading.event_time_ms = superseded_reading.event_time_ms
  WHERE superseded_reading.series_id = $series_id
    AND superseded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT rejected.sample.event_time_ms, 'rejected' AS fate, rejected.reason, rejected.sample."text" AS detail,
    rejected.sample.batch_id, rejected.sample.stream_offset
  FROM rejected
  WHERE rejected.sample.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
)
SELECT received.event_time_ms::DOUBLE AS event_time_ms, received.value, received.fate, received.reason, received.detail,
  received.batch_id, batch.landed_at_ms::DOUBLE AS landed_at_ms,
  (count(*) OVER ())::INTEGER AS readings
FROM received
LEFT JOIN batch USING (batch_id)
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
-- Returns the limits of a series ($series_id) on a UTC day ($utc_day), and the days from which they are
-- learnt. These are the days with readings from limit_days() - 1 days before it to $look_ahead days after
-- it, as in collect_limits of the roll-up.
SELECT
  method_limit(series_rule.method, series_rule.net, series_rule.max_power_w, series_day.learnt_power_w)
    AS max_power_w,
  series_day.learnt_power_w,
  CASE
    WHEN series_rule.max_power_w IS NULL AND series_day.usual_power_w IS NOT NULL
      THEN power_limit_after_reset(series_rule.max_power_w, series_day.learnt_power_w, series_day.usual_power_w)
  END AS max_power_after_reset_w,
  jitter(series_rule.jitter_wh, series_day.learnt_resolution) AS jitter_wh, series_rule.modulus_wh,
  reading_interval(series_rule.reading_interval_ms, series_day.learnt_step_ms)::DOUBLE AS reading_interval_ms,
  max_gap(series_rule.max_gap_ms, series_day.learnt_step_ms)::DOUBLE AS max_gap_ms, series_rule.net,
  series_rule.max_power_w AS configured_power_w, series_rule.jitter_wh AS configured_jitter_wh,
  series_rule.reading_interval_ms::DOUBLE AS configured_interval_ms,
  series_rule.max_gap_ms::DOUBLE AS configured_gap_ms,
  series_day.learnt_resolution AS resolution, series_day.learnt_step_ms::DOUBLE AS step_ms,
  learnt_from.days::INTEGER AS days, learnt_from.first_day, learnt_from.last_day
FROM series_rule
LEFT JOIN series_day ON series_day.series_id = series_rule.series_id AND series_day.utc_day = $utc_day
CROSS JOIN (
  SELECT count(*) AS days, ('1970-01-01'::DATE + min(utc_day))::VARCHAR AS first_day,
    ('1970-01-01'::DATE + max(utc_day))::VARCHAR AS last_day
  FROM series_day
  WHERE series_id = $series_id
    AND utc_day BETWEEN $utc_day - limit_days() + 1 AND $utc_day + $look_ahead::INTEGER
) AS learnt_from
WHERE series_rule.series_id = $series_id;
