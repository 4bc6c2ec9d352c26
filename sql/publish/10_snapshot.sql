-- 10 Snapshot: how far the warehouse is, and what has changed in it.
--
-- Reads   shard, batch, quarantine, checkpoint, dirty_partition, daily_energy.
-- Writes  nothing.
-- Why     Everything that is published is read in one transaction, so that the datasets of the lake belong together.

-- name: read_state
-- How far the warehouse is, in the snapshot that everything else is read in.
-- created_at_ms: when the warehouse was made; batch_id: the last batch that landed, -1 for none.
SELECT
  (SELECT created_at_ms FROM shard)::DOUBLE AS created_at_ms,
  coalesce((SELECT max(batch_id) FROM batch), -1)::VARCHAR AS batch_id;

-- name: list_checkpoints
-- How far each origin has been read. Offsets as text, because they go beyond 2^53.
SELECT origin, log_epoch, next_offset::VARCHAR AS next_offset, last_store_time_ms::DOUBLE AS last_store_time_ms
FROM checkpoint
ORDER BY origin;

-- name: find_dirty
-- What the roll-up has changed since it was last published.
SELECT DISTINCT dataset, partition FROM dirty_partition ORDER BY ALL;

-- name: find_day_range
-- The first and the last local day that have energy.
SELECT min(day)::VARCHAR AS first_day, max(day)::VARCHAR AS last_day FROM daily_energy
