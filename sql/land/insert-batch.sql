-- The ledger row of a batch, in the transaction that lands it.
-- Parameters: batch_id, origin, log_epoch, from_offset, next_offset, message_count, quarantined_count,
--   first_store_time_ms, last_store_time_ms, landed_at_ms.
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
)
