-- A piece of the archive has been handed to the roll-up.
UPDATE backfill_chunk SET state = 'done', messages_landed = $messages::BIGINT, updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;
