-- The whole file has landed. $last_batch_id: the last of its batches that is in the ledger
UPDATE import_file
SET state = 'landed', last_batch_id = $last_batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHERE import_id = $import_id::BIGINT;
