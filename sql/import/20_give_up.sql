-- 20 Give up: files whose import was cancelled.
--
-- Reads   nothing.
-- Writes  import_file, message, quarantine, dirty_partition.
-- Why     The landed rows of a cancelled file are deleted. No other stage has seen them.

-- name: drop_messages
-- Deletes the landed messages of a cancelled file. $first_batch_id and $last_batch_id as in enter_batches.
DELETE FROM message WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;

-- name: drop_quarantine
-- Deletes its rejected messages.
DELETE FROM quarantine WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;

-- name: mark_quarantine_dirty
-- Marks the quarantine, so that the lake writes it again.
INSERT INTO dirty_partition (dataset, partition) VALUES ('quarantine', 'import');

-- name: mark_dropped
-- Stores that the import was given up.
UPDATE import_file SET state = 'dropped', updated_at_ms = $now_ms::BIGINT WHERE import_id = $import_id::BIGINT;
