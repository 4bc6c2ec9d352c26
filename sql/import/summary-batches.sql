-- The batches of imports that count. $import_ids; $batches_max: ids that an import has for itself.
SELECT b.batch_id::DOUBLE AS batch_id
FROM import_file f
JOIN batch b ON b.batch_id BETWEEN f.import_id * $batches_max::BIGINT + 1 AND f.last_batch_id
WHERE f.state = 'landed' AND list_contains($import_ids::BIGINT[], f.import_id)
ORDER BY b.batch_id;
