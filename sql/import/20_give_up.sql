-- 20 Give up: files whose import was cancelled before its end.
--
-- Reads   import_file.
-- Writes  import_file, message, quarantine, dirty_partition.
-- Why     What such a file has landed goes again. No stage has seen it.

-- name: drop_messages
-- What a file that was given up has landed; no stage has seen it. $first_batch_id and $last_batch_id as in enter_batches.
DELETE FROM message WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;

-- name: drop_quarantine
-- What of it was rejected.
DELETE FROM quarantine WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;

-- name: mark_quarantine_dirty
-- Rows have been taken out of the quarantine, so that the lake writes it again.
INSERT INTO dirty_partition (dataset, partition) VALUES ('quarantine', 'import');

-- name: mark_dropped
-- The file was given up.
UPDATE import_file SET state = 'dropped', updated_at_ms = $now_ms::BIGINT WHERE import_id = $import_id::BIGINT;
