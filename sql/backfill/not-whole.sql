-- The upstream no longer has all of a piece.
UPDATE backfill_chunk SET is_whole = false WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;
