-- Moves the checkpoint of an origin, in the transaction that lands what lies before it.
-- Parameters: origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms.
UPDATE checkpoint
SET
  log_epoch = $log_epoch,
  next_offset = $next_offset::UBIGINT,
  last_offset = $last_offset::UBIGINT,
  last_store_time_ms = $last_store_time_ms::BIGINT,
  batch_id = $batch_id::BIGINT,
  updated_at_ms = $updated_at_ms::BIGINT
WHERE origin = $origin
