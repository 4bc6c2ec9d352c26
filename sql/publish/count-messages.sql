-- Which tables and hours (UTC, by store time) the batches after $after_batch_id, up to $through_batch_id, hold messages of.
SELECT p.table_id, coalesce(n.name, '#' || p.table_id) AS table_name, (p.hour * 3600000)::DOUBLE AS hour_start_ms, p.row_count::DOUBLE AS row_count
FROM (
  SELECT table_id, store_time_ms // 3600000 AS hour, count(*) AS row_count
  FROM message
  WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
  GROUP BY ALL
) p
LEFT JOIN name n ON n.name_id = p.table_id
ORDER BY ALL;
