-- Counts for the status of a shard.
-- Columns: message_count, batch_count, gap_count, name_count, schema_number.
SELECT
  (SELECT count(*) FROM message) AS message_count,
  (SELECT count(*) FROM batch) AS batch_count,
  (SELECT count(*) FROM gap WHERE closed_at_ms IS NULL) AS gap_count,
  (SELECT count(*) FROM name) AS name_count,
  (SELECT max(number) FROM schema_migration) AS schema_number
