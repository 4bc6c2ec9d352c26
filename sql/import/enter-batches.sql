-- Enters the batches of a file ($first_batch_id to $last_batch_id) in the ledger. From then on later stages see them.
INSERT INTO batch (
  batch_id, origin, message_count, quarantined_count, first_store_time_ms, last_store_time_ms, landed_at_ms
)
WITH landed AS (
  SELECT batch_id, count(*) AS messages, min(store_time_ms) AS first_ms, max(store_time_ms) AS last_ms
  FROM message
  WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT
  GROUP BY batch_id
), rejected AS (
  SELECT batch_id, count(*) AS messages
  FROM quarantine
  WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT
  GROUP BY batch_id
)
SELECT batch_id, $origin, coalesce(l.messages, 0), coalesce(r.messages, 0), l.first_ms, l.last_ms, $now_ms::BIGINT
FROM landed l FULL JOIN rejected r USING (batch_id)
ORDER BY batch_id;
