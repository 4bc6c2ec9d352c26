-- Which tables and hours (UTC, by store time) the batches after $after_batch_id, up to $through_batch_id, hold messages of, in parts of
-- whole batches: a file is sorted in memory, so it takes $rows_max messages or a batch.
WITH counted AS (
  SELECT table_id, store_time_ms // 3600000 AS hour, batch_id, count(*) AS row_count
  FROM message
  WHERE batch_id > $after_batch_id::BIGINT AND batch_id <= $through_batch_id::BIGINT
  GROUP BY ALL
), part AS (
  SELECT table_id, hour, min(batch_id) - 1 AS after_batch_id, max(batch_id) AS through_batch_id, sum(row_count) AS row_count
  FROM (
    SELECT *, (sum(row_count) OVER (PARTITION BY table_id, hour ORDER BY batch_id) - 1) // $rows_max::BIGINT AS part FROM counted
  )
  GROUP BY table_id, hour, part
)
SELECT p.table_id, coalesce(n.name, '#' || p.table_id) AS table_name, (p.hour * 3600000)::DOUBLE AS hour_start_ms,
  p.after_batch_id::BIGINT AS after_batch_id, p.through_batch_id::BIGINT AS through_batch_id, p.row_count::DOUBLE AS row_count
FROM part p
LEFT JOIN name n ON n.name_id = p.table_id
ORDER BY ALL;
