-- The newest import of a file ($content_hash) that was read in the same way ($mapping_hash) and has not been dropped.
SELECT import_id, path, state, rows_read, rows_landed, rows_rejected, rejected, last_batch_id, updated_at_ms
FROM import_file
WHERE content_hash = $content_hash AND mapping_hash = $mapping_hash AND state <> 'dropped'
ORDER BY import_id DESC
LIMIT 1;
