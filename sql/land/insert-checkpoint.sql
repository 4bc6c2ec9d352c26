-- The first checkpoint of an origin.
-- Parameters: origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms.
INSERT INTO checkpoint (origin, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms)
VALUES (
  $origin,
  $log_epoch,
  $next_offset::UBIGINT,
  $last_offset::UBIGINT,
  $last_store_time_ms::BIGINT,
  $batch_id::BIGINT,
  $updated_at_ms::BIGINT
)
