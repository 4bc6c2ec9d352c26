-- Corrects the ledger to what is there of batch $batch_id.
-- Parameters: batch_id.
UPDATE batch
SET message_count = (SELECT count(*) FROM message WHERE message.batch_id = $batch_id::BIGINT)
WHERE batch_id = $batch_id::BIGINT;
