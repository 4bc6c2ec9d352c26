-- 20 Batches: landed batches, and how far each origin was read.
--
-- Reads   name, message_table, batch, checkpoint, gap, progress, shard.
-- Writes  batch (one row for each batch of messages), checkpoint (one row for each origin: the next offset to
--         read), gap.
-- Why     A batch and its checkpoint are stored in one transaction, so that no message is lost or counted
--         twice.

-- name: find_names
-- Returns every name and its id, and if messages have it as their table.
-- Columns: name_id, name, is_table
SELECT name_id, name, name_id IN (FROM message_table) AS is_table FROM name ORDER BY name_id;

-- name: find_last_batch
-- Returns the highest batch id that this file has ever had. Its ledger row can be deleted already.
-- Columns: batch_id
SELECT
  greatest(
    coalesce((SELECT max(batch_id) FROM batch), 0),
    coalesce((SELECT max(batch_id) FROM checkpoint), 0),
    coalesce((SELECT max(batch_id) FROM progress), 0)
  ) AS batch_id;

-- name: find_checkpoints
-- Returns every checkpoint.
-- Columns: origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms
SELECT origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms
FROM checkpoint
ORDER BY origin;

-- name: find_position
-- Returns the owner of the file and the checkpoint of one origin (nulls if it has none).
-- Columns: owner_epoch, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms
SELECT
  shard.owner_epoch,
  checkpoint.log_epoch,
  checkpoint.next_offset,
  checkpoint.last_offset,
  checkpoint.last_store_time_ms,
  checkpoint.batch_id,
  checkpoint.updated_at_ms
FROM shard
LEFT JOIN checkpoint ON checkpoint.origin = $origin;

-- name: store_batch
-- Stores the ledger row of a batch, in the transaction that lands it.
INSERT INTO batch (
  batch_id,
  origin,
  log_epoch,
  from_offset,
  next_offset,
  message_count,
  quarantined_count,
  first_store_time_ms,
  last_store_time_ms,
  landed_at_ms
)
VALUES (
  $batch_id::BIGINT,
  $origin,
  $log_epoch,
  $from_offset::UBIGINT,
  $next_offset::UBIGINT,
  $message_count::BIGINT,
  $quarantined_count::BIGINT,
  $first_store_time_ms::BIGINT,
  $last_store_time_ms::BIGINT,
  $landed_at_ms::BIGINT
);

-- name: store_checkpoint
-- Stores the first checkpoint of an origin.
INSERT INTO checkpoint (origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms)
VALUES (
  $origin,
  $log_epoch,
  $next_offset::UBIGINT,
  $last_offset::UBIGINT,
  $last_store_time_ms::BIGINT,
  $batch_id::BIGINT,
  $updated_at_ms::BIGINT
);

-- name: advance_checkpoint
-- Moves the checkpoint of an origin, in the transaction that lands the messages before it.
UPDATE checkpoint
SET
  log_epoch = $log_epoch,
  next_offset = $next_offset::UBIGINT,
  last_offset = $last_offset::UBIGINT,
  last_store_time_ms = $last_store_time_ms::BIGINT,
  batch_id = $batch_id::BIGINT,
  updated_at_ms = $updated_at_ms::BIGINT
WHERE origin = $origin;

-- name: store_gap
-- Stores a gap, unless the same gap is stored already, because a gap can be reported twice.
INSERT INTO gap BY NAME
SELECT
  coalesce((SELECT max(gap_id) FROM gap), 0) + 1 AS gap_id,
  $origin AS origin,
  $reason AS reason,
  $from_offset::UBIGINT AS from_offset,
  $to_offset::UBIGINT AS to_offset,
  $from_time_ms::BIGINT AS from_time_ms,
  $to_time_ms::BIGINT AS to_time_ms,
  $detected_at_ms::BIGINT AS detected_at_ms
WHERE NOT EXISTS (
  SELECT 1
  FROM gap
  WHERE gap.origin = $origin
    AND gap.reason = $reason
    AND gap.from_offset IS NOT DISTINCT FROM $from_offset::UBIGINT
    AND gap.to_offset IS NOT DISTINCT FROM $to_offset::UBIGINT
    AND gap.from_time_ms IS NOT DISTINCT FROM $from_time_ms::BIGINT
);
