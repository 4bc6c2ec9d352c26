-- The id of the next import: its batches ($batches_max ids from import_id * $batches_max + 1 on) come after all there are.
-- $last_batch_id: the last id of the ledger
SELECT greatest(coalesce(max(import_id), 0) + 1, $last_batch_id::BIGINT // $batches_max::BIGINT + 1) AS import_id FROM import_file;
