-- 30 Messages: landed messages, and gaps of the stream.
--
-- Reads   message, name, gap.
-- Writes  nothing. Returns the rows of the datasets messages and gap. Each statement here and in the next
--         chapters selects the columns of the files of a dataset, in the order of their rows.
-- Why     The lake keeps whole messages, including fields that no energy stream reads.

-- name: select_messages
-- Selects the messages of one table and hour in the batches after $after_batch_id up to $through_batch_id,
-- with names instead of ids. $table_id, $table_name; $start_ms, $end_ms: range of store times (end excluded).
-- If a message has a field twice, the last one counts. Messages of one kind of device have the same fields,
-- so names are looked up once for each list of fields.
WITH chosen AS (
  -- The messages of the file.
  SELECT * FROM message
  WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
    AND table_id = $table_id::INTEGER
    AND store_time_ms >= $start_ms::BIGINT AND store_time_ms < $end_ms::BIGINT
), place AS (
  -- The name at each place of each list of fields.
  SELECT field_ids, unnest(field_ids) AS name_id, generate_subscripts(field_ids, 1) AS place
  FROM (SELECT DISTINCT field_ids FROM chosen)
), last_place AS (
  -- The last place of each name, because a list can have a name twice.
  SELECT field_ids, name_id, max(place) AS place FROM place GROUP BY ALL
), shape AS (
  -- Each list of fields, with its names and their places.
  SELECT last_place.field_ids, list(coalesce(name.name, '#' || last_place.name_id) ORDER BY last_place.place) AS fields,
    list(last_place.place ORDER BY last_place.place) AS places
  FROM last_place LEFT JOIN name USING (name_id)
  GROUP BY last_place.field_ids
)
SELECT
  $table_name::VARCHAR AS "table",
  CASE chosen.kind WHEN 0 THEN 'telemetry' WHEN 1 THEN 'device_status' WHEN 2 THEN 'audit' ELSE 'unknown' END AS kind,
  chosen.device,
  name.name AS source,
  make_timestamptz(chosen.event_time_ms * 1000) AS event_time,
  make_timestamptz(chosen.store_time_ms * 1000) AS store_time,
  chosen.stream_offset,
  chosen.message_id,
  CASE
    WHEN shape.places IS NULL THEN MAP {}
    WHEN len(shape.places) = len(chosen.field_ids) THEN map(shape.fields, chosen.numbers)
    ELSE map(shape.fields, list_select(chosen.numbers, shape.places))
  END::MAP(VARCHAR, DOUBLE) AS data,
  chosen.other,
  chosen.batch_id
FROM chosen
LEFT JOIN shape ON shape.field_ids = chosen.field_ids
LEFT JOIN name ON name.name_id = chosen.source_id
ORDER BY chosen.device, chosen.event_time_ms, chosen.stream_offset;

-- name: select_gap
-- Selects the ranges of the stream that could not be read.
SELECT
  gap_id,
  origin,
  reason,
  from_offset,
  to_offset,
  make_timestamptz(from_time_ms * 1000) AS from_time,
  make_timestamptz(to_time_ms * 1000) AS to_time,
  make_timestamptz(detected_at_ms * 1000) AS detected_at,
  make_timestamptz(closed_at_ms * 1000) AS closed_at,
  note
FROM gap
ORDER BY gap_id;
