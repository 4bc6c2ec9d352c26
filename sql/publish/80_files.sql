-- 80 Files: checks a written file, and notes what is published.
--
-- Reads   the Parquet file that was just written.
-- Writes  progress (the last batch whose energy is published), dirty_partition.
-- Why     A full or broken disk does not always report an error. So a file is read back before it is
--         published.

-- name: verify_file
-- Returns the row count of a Parquet file ($path), read back from the file.
SELECT num_rows::DOUBLE AS row_count, file_size_bytes::DOUBLE AS bytes FROM parquet_file_metadata([$path]);

-- name: sum_file_energy
-- Returns the energy (Wh) in a Parquet file ($path), read back from the file.
SELECT coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh FROM read_parquet([$path], hive_partitioning = false);

-- name: forget_dirty
-- Deletes the marks that this transaction sees. Marks that are added meanwhile stay.
DELETE FROM dirty_partition;

-- name: store_progress
-- Stores the last batch whose energy is published ($batch_id), and the time ($now_ms).
MERGE INTO progress USING (SELECT 'publish' AS stage) AS published USING (stage)
WHEN MATCHED AND progress.batch_id <> $batch_id::BIGINT
  THEN UPDATE SET batch_id = $batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHEN NOT MATCHED THEN INSERT (stage, batch_id, updated_at_ms) VALUES ('publish', $batch_id::BIGINT, $now_ms::BIGINT);
