-- 10 Snapshot: the state of the warehouse, and what has changed in it.
--
-- Reads   shard, batch, checkpoint, dirty_partition, daily_energy, series, device_state.
-- Writes  nothing.
-- Why     Everything that is published is read in one transaction, so that the datasets of the lake fit
--         together.

-- name: read_state
-- Returns the state of the warehouse.
-- Columns:
--   created_at_ms   when the warehouse was created
--   batch_id        the last landed batch; -1: none
SELECT
  (SELECT created_at_ms FROM shard)::DOUBLE AS created_at_ms,
  coalesce((SELECT max(batch_id) FROM batch), -1)::VARCHAR AS batch_id;

-- name: list_checkpoints
-- Returns how far each origin has been read. Offsets are text, because they can exceed 2^53.
SELECT origin, log_epoch, next_offset::VARCHAR AS next_offset, last_store_time_ms::DOUBLE AS last_store_time_ms
FROM checkpoint
ORDER BY origin;

-- name: find_dirty
-- Returns what the roll-up has changed since the last publish.
SELECT DISTINCT dataset, partition FROM dirty_partition ORDER BY ALL;

-- name: find_day_range
-- Returns the first and the last local day with energy.
SELECT min(day)::VARCHAR AS first_day, max(day)::VARCHAR AS last_day FROM daily_energy;

-- name: find_declared_inputs
-- Returns everything in the warehouse that the declared datasets depend on: sources with energy, devices with
-- messages, and the days with energy. Sets are returned as a count and a fingerprint.
SELECT
  (
    SELECT concat(count(*), ' ', bit_xor(hash(device, source))) FROM (SELECT DISTINCT device, source FROM series)
  ) AS sources,
  (SELECT concat(count(*), ' ', bit_xor(hash(device))) FROM device_state) AS devices,
  (SELECT concat(min(day), ' ', max(day)) FROM daily_energy) AS days;
