-- Enters what was read of the lake ($batch_id) in the ledger, so that the roll-up takes it in, and ends the piece that it was.
INSERT INTO batch (
  batch_id, origin, message_count, quarantined_count, first_store_time_ms, last_store_time_ms, landed_at_ms
)
SELECT $batch_id::BIGINT, $origin, count(*), 0, min(store_time_ms), max(store_time_ms), $now_ms::BIGINT
FROM archived_message
WHERE batch_id = $batch_id::BIGINT
RETURNING message_count::DOUBLE AS messages;
