-- A piece of the stream is done; what it has landed is what the ledger of batches says of its origin.
UPDATE backfill_chunk
SET
  state = 'done',
  messages_landed = coalesce((SELECT sum(message_count) FROM batch WHERE origin = $origin), 0),
  updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;
