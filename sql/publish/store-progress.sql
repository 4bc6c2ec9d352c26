-- Notes the last batch whose energy is published ($batch_id) and since when ($now_ms).
MERGE INTO progress USING (SELECT 'publish' AS stage) AS published USING (stage)
WHEN MATCHED AND progress.batch_id <> $batch_id::BIGINT THEN UPDATE SET batch_id = $batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHEN NOT MATCHED THEN INSERT (stage, batch_id, updated_at_ms) VALUES ('publish', $batch_id::BIGINT, $now_ms::BIGINT);
