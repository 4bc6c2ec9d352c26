-- 10 Ledger: imported files, from the first row to the last.
--
-- Reads   import_file, batch, message, quarantine.
-- Writes  import_file (one row for each import of a file), batch (when the whole file has landed),
--         checkpoint.
-- Why     A file counts as a whole or not at all. Its batches enter the ledger when its last row has landed.

-- name: find_import
-- Returns the newest import of a file ($content_hash) with the same mapping ($mapping_hash) that was not
-- dropped.
SELECT import_id, path, state, rows_read, rows_landed, rows_rejected, rejected, last_batch_id, updated_at_ms
FROM import_file
WHERE content_hash = $content_hash AND mapping_hash = $mapping_hash AND state <> 'dropped'
ORDER BY import_id DESC
LIMIT 1;

-- name: find_unfinished
-- Returns imports that have begun and not ended.
-- Columns: import_id
SELECT import_id FROM import_file WHERE state = 'landing' ORDER BY import_id;

-- name: find_next_import_id
-- Returns the id of the next import. Its batches ($batches_max ids from import_id * $batches_max + 1 on) come
-- after all others. $last_batch_id: the last id of the ledger.
SELECT greatest(coalesce(max(import_id), 0) + 1, $last_batch_id::BIGINT // $batches_max::BIGINT + 1) AS import_id
FROM import_file;

-- name: begin_import
-- Stores a new import.
INSERT INTO import_file (
  import_id, path, table_name, file_bytes, content_hash, mapping_hash, state,
  rows_read, rows_landed, rows_rejected, rejected, started_at_ms, updated_at_ms
)
VALUES (
  $import_id::BIGINT, $path, $table_name, $file_bytes::BIGINT, $content_hash, $mapping_hash, 'landing',
  0, 0, 0, '{}', $now_ms::BIGINT, $now_ms::BIGINT
);

-- name: advance_import
-- Stores how far a file is, in the transaction that lands the rows before. $rejected: JSON object, rows by
-- reason.
UPDATE import_file
SET
  rows_read = $rows_read::BIGINT,
  rows_landed = $rows_landed::BIGINT,
  rows_rejected = $rows_rejected::BIGINT,
  rejected = $rejected,
  updated_at_ms = $now_ms::BIGINT
WHERE import_id = $import_id::BIGINT;

-- name: enter_batches
-- Adds the batches of a file ($first_batch_id to $last_batch_id) to the ledger. From then on later stages see
-- them.
INSERT INTO batch BY NAME
WITH landed AS (
  -- The messages of each batch.
  SELECT batch_id, count(*) AS messages, min(store_time_ms) AS first_ms, max(store_time_ms) AS last_ms
  FROM message
  WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT
  GROUP BY batch_id
), rejected AS (
  -- The quarantined messages of each batch.
  SELECT batch_id, count(*) AS messages
  FROM quarantine
  WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT
  GROUP BY batch_id
)
SELECT batch_id, $origin AS origin, coalesce(landed.messages, 0) AS message_count,
  coalesce(rejected.messages, 0) AS quarantined_count,
  landed.first_ms AS first_store_time_ms, landed.last_ms AS last_store_time_ms, $now_ms::BIGINT AS landed_at_ms
FROM landed FULL JOIN rejected USING (batch_id)
ORDER BY batch_id;

-- name: find_last_batch
-- Returns the last batch of a file in the ledger; $first_batch_id and $last_batch_id as in enter_batches.
SELECT max(batch_id) AS batch_id FROM batch WHERE batch_id BETWEEN $first_batch_id::BIGINT AND $last_batch_id::BIGINT;

-- name: finish_import
-- Stores that the whole file has landed. $last_batch_id: the last of its batches in the ledger.
UPDATE import_file
SET state = 'landed', last_batch_id = $last_batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHERE import_id = $import_id::BIGINT;

-- name: forget_position
-- Deletes the position of an import ($import_id) that has ended.
DELETE FROM checkpoint WHERE starts_with(origin, 'import:') AND ends_with(origin, ':' || $import_id::BIGINT);

-- name: list_imports
-- Returns imports, the newest first: at most $rows_max, with ids below $before_id.
SELECT
  import_id::DOUBLE AS import_id,
  path,
  table_name,
  state,
  file_bytes::DOUBLE AS file_bytes,
  rows_read::DOUBLE AS rows_read,
  rows_landed::DOUBLE AS rows_landed,
  rows_rejected::DOUBLE AS rows_rejected,
  rejected,
  started_at_ms::DOUBLE AS started_at_ms,
  updated_at_ms::DOUBLE AS updated_at_ms
FROM import_file
WHERE import_id < $before_id::BIGINT
ORDER BY import_id DESC
LIMIT $rows_max::BIGINT;
