-- Whether messages with store times from $first_ms to $last_ms have landed that the warehouse no longer holds: batches leave it in the order
-- of their ids. Columns: is_trimmed.
SELECT count(*) > 0 AS is_trimmed
FROM batch
WHERE message_count > 0
  AND first_store_time_ms <= $last_ms::BIGINT
  AND last_store_time_ms >= $first_ms::BIGINT
  AND batch_id < coalesce((SELECT min(batch_id) FROM message), (SELECT max(batch_id) + 1 FROM batch));
