-- 40 Archive: messages that only the lake still has, for energy streams that are configured later.
--
-- Reads   files of the lake; message, batch, name, archived_message.
-- Writes  archived_message (messages in the form that the roll-up reads, ids instead of names), batch,
--         backfill_chunk.
-- Why     A new energy stream starts with all messages that ever landed.

-- name: find_kept_batch
-- Returns the first batch whose messages the warehouse still has; if there is none, the id after the last
-- batch.
-- Columns: batch_id
SELECT coalesce((SELECT min(batch_id) FROM message), (SELECT max(batch_id) + 1 FROM batch), 0) AS batch_id;

-- name: count_archive
-- Counts telemetry messages of some tables ($tables) in the lake's files ($files) that the warehouse no
-- longer has (batches before $kept_batch_id), for each $bucket_ms of event time from $from_ms up to $to_ms
-- (excluded).
-- Columns: start_ms, messages
SELECT (epoch_ms(event_time) // $bucket_ms::BIGINT * $bucket_ms::BIGINT)::DOUBLE AS start_ms,
  count(*)::DOUBLE AS messages
FROM read_parquet($files, hive_partitioning = false)
WHERE kind = 'telemetry'
  AND list_contains($tables::VARCHAR[], "table")
  AND batch_id < $kept_batch_id::BIGINT
  AND event_time >= make_timestamptz($from_ms::BIGINT * 1000)
  AND event_time < make_timestamptz($to_ms::BIGINT * 1000)
GROUP BY start_ms
ORDER BY start_ms;

-- name: store_archived
-- Copies messages of the lake to archived_message as batch $batch_id, with ids instead of names. Parameters
-- as in count_archive. Names are looked up once for each list of fields.
INSERT INTO archived_message BY NAME
WITH chosen AS (
  -- The messages that are copied.
  SELECT * FROM read_parquet($files, hive_partitioning = false)
  WHERE kind = 'telemetry'
    AND list_contains($tables::VARCHAR[], "table")
    AND batch_id < $kept_batch_id::BIGINT
    AND event_time >= make_timestamptz($from_ms::BIGINT * 1000)
    AND event_time < make_timestamptz($to_ms::BIGINT * 1000)
), place AS (
  -- The name at each place of each list of fields.
  SELECT fields, unnest(fields) AS name, generate_subscripts(fields, 1) AS place
  FROM (SELECT DISTINCT map_keys(data) AS fields FROM chosen)
), shape AS (
  -- Each list of fields, with the ids of its names.
  SELECT place.fields, list(name.name_id ORDER BY place.place) AS field_ids
  FROM place
  JOIN name USING (name)
  GROUP BY place.fields
)
SELECT
  $batch_id::BIGINT AS batch_id,
  chosen.stream_offset,
  table_name.name_id AS table_id,
  0 AS kind,
  chosen.device,
  source_name.name_id AS source_id,
  epoch_ms(chosen.event_time) AS event_time_ms,
  epoch_ms(chosen.store_time) AS store_time_ms,
  chosen.message_id,
  coalesce(shape.field_ids, []) AS field_ids,
  map_values(chosen.data) AS numbers,
  chosen.other
FROM chosen
JOIN name AS table_name ON table_name.name = chosen."table"
LEFT JOIN name AS source_name ON source_name.name = chosen.source
LEFT JOIN shape ON shape.fields = map_keys(chosen.data);

-- name: enter_archived
-- Adds the messages that were read from the lake ($batch_id) to the ledger, so that the roll-up reads them.
INSERT INTO batch BY NAME
SELECT $batch_id::BIGINT AS batch_id, $origin AS origin, count(*) AS message_count, 0 AS quarantined_count,
  min(store_time_ms) AS first_store_time_ms, max(store_time_ms) AS last_store_time_ms, $now_ms::BIGINT AS landed_at_ms
FROM archived_message
WHERE batch_id = $batch_id::BIGINT
RETURNING message_count::DOUBLE AS messages;

-- name: finish_archived
-- Ends a piece of the archive whose messages were given to the roll-up.
UPDATE backfill_chunk SET state = 'done', messages_landed = $messages::BIGINT, updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;

-- name: count_archived
-- Counts the messages of the lake that wait for the roll-up.
-- Columns: messages
SELECT count(*)::DOUBLE AS messages FROM archived_message;
