-- The last batch of a file that is in the ledger; $first_batch_id and $last_batch_id as in enter-batches.
SELECT max(batch_id) AS batch_id FROM batch WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;
