-- 60 Versions: earlier reported values of the day, and why they changed.
--
-- Reads   daily_energy, daily_energy_history, correction, correction_effect, known_reading,
--         superseded_reading, batch; series_rule (temporary).
-- Writes  nothing. Energy in Wh, instants in ms since 1970.
-- Why     A person who has seen another number before can see why it changed.

-- name: find_versions
-- Returns every version of a day ($day) of a device ($device) and source ($source), and the current one, even
-- if the day is not over.
-- Columns:
--   energy_wh, method, flags, coverage, version, computed_at_ms, batch_id
--   causes   null for a day that was not over
SELECT energy_wh::DOUBLE AS energy_wh, method, flags, coverage, version, computed_at_ms::DOUBLE AS computed_at_ms,
  batch_id, any_value(causes) AS causes
FROM (
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, causes
  FROM daily_energy_history WHERE day = $day::DATE AND device = $device::UUID AND source = $source
  UNION ALL BY NAME
  SELECT energy_wh, method, flags, coverage, version, computed_at_ms, batch_id
  FROM daily_energy WHERE day = $day::DATE AND device = $device::UUID AND source = $source
)
GROUP BY ALL
ORDER BY version, computed_at_ms;

-- name: find_version_batches
-- Returns the batches after $after_batch up to $upto_batch that contained readings of a device ($device) and
-- source ($source), in order. This includes readings that are no longer used, because they were used when the
-- version was computed.
-- $low_ms, $high_ms: the day and the readings around it. $end_ms: the end of the day. $from_ms, $to_ms: the
-- range of readings to search.
-- Columns:
--   batch_id
--   origin, landed_at_ms   as in table batch; null if it is not there
--   readings               readings of the source between $from_ms and $to_ms
--   late_readings          those of the day and around it, if the batch came after the day; else 0
--   from_ms, to_ms         the first and the last of the readings
--   touches_day            it has readings of the day or around it
WITH received AS (
  -- All readings, used or not.
  SELECT series_id, event_time_ms, batch_id FROM known_reading
  UNION ALL BY NAME
  SELECT series_id, event_time_ms, batch_id FROM superseded_reading
), counted AS (
  -- The readings of each batch. day_readings: those of the day and around it.
  SELECT batch_id, count(*) AS readings,
    count(*) FILTER (event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT) AS day_readings,
    min(event_time_ms) AS from_ms, max(event_time_ms) AS to_ms
  FROM received
  WHERE series_id IN (SELECT series_id FROM series_rule WHERE device = $device::UUID AND source = $source)
    AND event_time_ms BETWEEN $from_ms::BIGINT AND $to_ms::BIGINT AND batch_id > $after_batch::BIGINT
    AND batch_id <= $upto_batch::BIGINT
  GROUP BY batch_id
)
SELECT counted.batch_id, batch.origin, batch.landed_at_ms::DOUBLE AS landed_at_ms,
  counted.readings::INTEGER AS readings,
  CASE WHEN batch.landed_at_ms > $end_ms::BIGINT THEN counted.day_readings ELSE 0 END::INTEGER AS late_readings,
  counted.from_ms::DOUBLE AS from_ms, counted.to_ms::DOUBLE AS to_ms, counted.day_readings > 0 AS touches_day
FROM counted
LEFT JOIN batch USING (batch_id)
ORDER BY counted.batch_id;

-- name: find_corrections
-- Returns the corrections of a device ($device) and source ($source) that overlap a day ($day, from $start_ms
-- to $end_ms), including undone ones and undos, and the effect of each on the day when it was made.
-- Columns:
--   correction_id, kind, from_ms, to_ms   as in table correction
--   table_name, field, day, energy_wh     as in table correction
--   undoes, undone_by                     the correction that it undoes, and that undoes it; null: none
--   reason, author, created_at_ms         as in table correction
--   has_changed                           it has an effect on the day
--   before_wh, after_wh                   energy of the day; null without energy or effect
SELECT correction.correction_id::INTEGER AS correction_id, correction.kind, correction.from_ms::DOUBLE AS from_ms,
  correction.to_ms::DOUBLE AS to_ms,
  correction.table_name, correction.field,
  correction.day::VARCHAR AS day, correction.energy_wh::DOUBLE AS energy_wh, correction.undoes::INTEGER AS undoes,
  undo.correction_id::INTEGER AS undone_by, correction.reason, correction.author,
  correction.created_at_ms::DOUBLE AS created_at_ms, correction_effect.correction_id IS NOT NULL AS has_changed,
  correction_effect.before_wh::DOUBLE AS before_wh, correction_effect.after_wh::DOUBLE AS after_wh
FROM correction
LEFT JOIN correction AS undo ON undo.undoes = correction.correction_id
LEFT JOIN correction_effect
  ON correction_effect.correction_id = correction.correction_id AND correction_effect.day = $day::DATE
  AND correction_effect.device = correction.device AND correction_effect.source = correction.source
WHERE correction.device = $device::UUID AND correction.source = $source AND correction.from_ms < $end_ms::BIGINT
  AND correction.to_ms > $start_ms::BIGINT
ORDER BY correction.correction_id;
