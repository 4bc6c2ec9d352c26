-- The upload with the same rows, if there was one.
SELECT upload_id::DOUBLE AS upload_id, row_count::DOUBLE AS row_count, revision, received_at_ms::DOUBLE AS received_at_ms
FROM upload WHERE kind = $kind AND content_hash = $content_hash ORDER BY upload_id DESC LIMIT 1;
