-- Puts messages of the lake ($files, $tables, $kept_batch_id, $from_ms, $to_ms as in archive-counts) where the roll-up reads them as batch
-- $batch_id, ids instead of names.
INSERT INTO archived_message
WITH chosen AS (
  SELECT * FROM read_parquet($files, hive_partitioning = false)
  WHERE kind = 'telemetry'
    AND list_contains($tables::VARCHAR[], "table")
    AND batch_id < $kept_batch_id::BIGINT
    AND event_time >= make_timestamptz($from_ms::BIGINT * 1000)
    AND event_time < make_timestamptz($to_ms::BIGINT * 1000)
),
-- As in publish/select_messages: names are looked up once a list of fields.
place AS (
  SELECT fields, unnest(fields) AS name, generate_subscripts(fields, 1) AS place
  FROM (SELECT DISTINCT map_keys(data) AS fields FROM chosen)
),
shape AS (
  SELECT p.fields, list(n.name_id ORDER BY p.place) AS field_ids FROM place p JOIN name n USING (name) GROUP BY p.fields
)
SELECT
  $batch_id::BIGINT,
  c.stream_offset,
  t.name_id,
  0,
  c.device,
  n.name_id,
  epoch_ms(c.event_time),
  epoch_ms(c.store_time),
  c.message_id,
  coalesce(s.field_ids, []),
  map_values(c.data),
  c.other
FROM chosen c
JOIN name t ON t.name = c."table"
LEFT JOIN name n ON n.name = c.source
LEFT JOIN shape s ON s.fields = map_keys(c.data);
