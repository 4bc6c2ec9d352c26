-- What of it was rejected.
DELETE FROM quarantine WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;
