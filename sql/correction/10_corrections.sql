-- 10 Corrections: storing and listing the corrections of people. Chapters 22 and 85 of sql/rollup apply them.
--
-- Reads   correction, correction_in_force, correction_effect, series; stream_setting (temporary).
-- Writes  correction, correction_value, correction_effect. Energy in Wh, instants in ms since 1970.
-- Why     A correction is a row of its own, and is never changed.

-- name: find_key
-- Returns the correction with a request key ($key) of the caller.
SELECT correction_id::DOUBLE AS correction_id, request FROM correction WHERE request_key = $key;

-- name: find_next_id
-- Returns correction_id (the next one) and corrections (the number of stored ones).
SELECT (coalesce(max(correction_id), 0) + 1)::DOUBLE AS correction_id, count(*)::DOUBLE AS corrections FROM correction;

-- name: list_sources
-- Returns the sources of a device ($device) that have readings.
SELECT DISTINCT source FROM series WHERE device = $device::UUID ORDER BY source;

-- name: list_streams
-- Returns the configured energy streams for which a device ($device) and source ($source) has readings.
SELECT stream_setting.table_name, stream_setting.field, stream_setting.net FROM series
JOIN stream_setting USING (stream_id)
WHERE series.device = $device::UUID AND series.source = $source ORDER BY stream_setting.position;

-- name: find_overlap
-- Returns a correction in force that sets or estimates part of the same time ($from_ms, $to_ms) of a device
-- ($device) and source ($source).
SELECT correction_id::DOUBLE AS correction_id, kind FROM correction_in_force
WHERE kind <> 'exclude' AND device = $device::UUID AND source = $source
  AND from_ms < $to_ms::BIGINT AND to_ms > $from_ms::BIGINT
ORDER BY correction_id LIMIT 1;

-- name: find_same_exclusion
-- Returns a correction in force that excludes the same readings in the same time.
SELECT correction_id::DOUBLE AS correction_id FROM correction_in_force
WHERE kind = 'exclude' AND device = $device::UUID AND source = $source
  AND from_ms = $from_ms::BIGINT AND to_ms = $to_ms::BIGINT
  AND table_name IS NOT DISTINCT FROM $table_name::VARCHAR AND field IS NOT DISTINCT FROM $field::VARCHAR
LIMIT 1;

-- name: find_correction
-- Returns a correction ($correction_id), and the one that has undone it (null: none).
SELECT correction.kind, correction.device::VARCHAR AS device, correction.source, correction.day::VARCHAR AS day,
  correction.timezone,
  correction.from_ms::DOUBLE AS from_ms, correction.to_ms::DOUBLE AS to_ms,
  (SELECT min(undo.correction_id) FROM correction AS undo WHERE undo.undoes = correction.correction_id)::DOUBLE
    AS undone_by
FROM correction WHERE correction.correction_id = $correction_id::BIGINT;

-- name: store_correction
-- Stores a correction. Members that it does not have are null.
INSERT INTO correction (
  correction_id, kind, device, source, table_name, field, day, timezone, from_ms, to_ms,
  energy_wh, basis, undoes, reason, author, request_key, request, created_at_ms
)
VALUES (
  $correction_id::BIGINT, $kind, $device::UUID, $source, $table_name, $field, $day::DATE, $timezone,
  $from_ms::BIGINT, $to_ms::BIGINT, $energy_wh::BIGINT, $basis, $undoes::BIGINT, $reason, $author,
  $request_key, $request, $created_at_ms::BIGINT
);

-- name: store_values
-- Stores the intervals of an estimate. $starts_ms, $energies_wh: lists of the same length.
INSERT INTO correction_value BY NAME
SELECT $correction_id::BIGINT AS correction_id, unnest($starts_ms::BIGINT[]) AS interval_start_ms,
  unnest($energies_wh::BIGINT[]) AS energy_wh;

-- name: store_effects
-- Stores the effect of a correction on days. $effects: JSON array of {day, device, source, beforeWh,
-- afterWh}.
INSERT INTO correction_effect BY NAME
SELECT $correction_id::BIGINT AS correction_id, effect.day, effect.device, effect.source,
  effect."beforeWh" AS before_wh, effect."afterWh" AS after_wh
FROM (
  SELECT unnest(from_json($effects::JSON, '[{
      "day": "DATE", "device": "UUID", "source": "VARCHAR", "beforeWh": "BIGINT", "afterWh": "BIGINT"
    }]'), recursive := true)
) AS effect;

-- name: list_corrections
-- Returns corrections, newest first, at most $rows_max, each with at most $days_max of its days. Null
-- for all: $devices (only these, as a JSON array), $source, $day_start_ms and $day_end_ms (only corrections
-- that overlap the day with these bounds), $before (only smaller ids), $correction_id. $in_force: only those
-- in force.
SELECT correction.correction_id::DOUBLE AS correction_id, correction.kind, correction.device::VARCHAR AS device,
  correction.source, correction.table_name,
  correction.field, correction.day::VARCHAR AS day, correction.timezone,
  correction.from_ms::DOUBLE AS from_ms, correction.to_ms::DOUBLE AS to_ms, correction.energy_wh::DOUBLE AS energy_wh,
  correction.basis, correction.undoes::DOUBLE AS undoes, correction.reason, correction.author,
  correction.created_at_ms::DOUBLE AS created_at_ms, undo.correction_id::DOUBLE AS undone_by,
  effect.days AS days_json, coalesce(effect.day_count, 0)::DOUBLE AS day_count
FROM correction
LEFT JOIN correction AS undo ON undo.undoes = correction.correction_id
LEFT JOIN (
  SELECT correction_id, max(place) AS day_count,
    to_json(list(
      {day: day::VARCHAR, device: device::VARCHAR, source: source, "beforeWh": before_wh, "afterWh": after_wh}
      ORDER BY place
    ) FILTER (place <= $days_max::INTEGER))::VARCHAR AS days
  FROM (
    SELECT *, row_number() OVER (PARTITION BY correction_id ORDER BY day, device, source) AS place
    FROM correction_effect
  )
  GROUP BY correction_id
) AS effect ON effect.correction_id = correction.correction_id
WHERE ($devices::VARCHAR IS NULL OR correction.device IN (SELECT unnest(from_json($devices::JSON, '["UUID"]'))))
  AND ($source::VARCHAR IS NULL OR correction.source = $source)
  AND ($day_start_ms::BIGINT IS NULL
    OR (correction.from_ms < $day_end_ms::BIGINT AND correction.to_ms > $day_start_ms::BIGINT))
  AND ($before::BIGINT IS NULL OR correction.correction_id < $before::BIGINT)
  AND ($correction_id::BIGINT IS NULL OR correction.correction_id = $correction_id::BIGINT)
  AND (NOT $in_force OR (correction.kind <> 'undo' AND undo.correction_id IS NULL))
ORDER BY correction.correction_id DESC
LIMIT $rows_max::BIGINT;
