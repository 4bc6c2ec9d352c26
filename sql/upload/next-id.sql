-- The number of the next upload.
SELECT (coalesce(max(upload_id), 0) + 1)::DOUBLE AS upload_id FROM upload;
