-- What a file that was given up has landed; no stage has seen it. $first_batch_id and $last_batch_id as in enter-batches.
DELETE FROM message WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;
