-- Deletes messages that are in the lake and rolled up (batches up to $batch_id) and landed before $before_ms.
DELETE FROM message
WHERE batch_id <= $batch_id::BIGINT
  AND batch_id < coalesce((SELECT min(batch_id) FROM batch WHERE landed_at_ms >= $before_ms::BIGINT), $batch_id::BIGINT + 1);
