-- How many messages trim-messages would delete, with the same parameters.
SELECT count(*)::DOUBLE AS row_count
FROM message
WHERE batch_id <= $batch_id::BIGINT
  AND batch_id < coalesce((SELECT min(batch_id) FROM batch WHERE landed_at_ms >= $before_ms::BIGINT), $batch_id::BIGINT + 1);
