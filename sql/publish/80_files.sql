-- 80 Files: what a file that was written holds, and what is done once all are in place.
--
-- Reads   the Parquet file that was just written; progress.
-- Writes  progress (the last batch whose energy is published), dirty_partition.
-- Why     A file is read back before it is published, because a disk that is full or broken may say nothing when it is written.

-- name: verify_file
-- What a Parquet file ($path) says it holds, read back from the file.
SELECT num_rows::DOUBLE AS row_count, file_size_bytes::DOUBLE AS bytes FROM parquet_file_metadata([$path]);

-- name: sum_file_energy
-- The energy (Wh) in a Parquet file ($path), read back from the file.
SELECT coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh FROM read_parquet([$path], hive_partitioning = false);

-- name: forget_dirty
-- Forgets the marks that this transaction sees; those that are added meanwhile stay.
DELETE FROM dirty_partition;

-- name: store_progress
-- Notes the last batch whose energy is published ($batch_id) and since when ($now_ms).
MERGE INTO progress USING (SELECT 'publish' AS stage) AS published USING (stage)
WHEN MATCHED AND progress.batch_id <> $batch_id::BIGINT THEN UPDATE SET batch_id = $batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHEN NOT MATCHED THEN INSERT (stage, batch_id, updated_at_ms) VALUES ('publish', $batch_id::BIGINT, $now_ms::BIGINT);
