-- Notes the last batch that was looked at ($batch_id) and when ($now_ms).
MERGE INTO progress USING (SELECT 'device_status' AS stage) AS looked USING (stage)
WHEN MATCHED THEN UPDATE SET batch_id = $batch_id::BIGINT, updated_at_ms = $now_ms::BIGINT
WHEN NOT MATCHED THEN INSERT (stage, batch_id, updated_at_ms) VALUES ('device_status', $batch_id::BIGINT, $now_ms::BIGINT);
