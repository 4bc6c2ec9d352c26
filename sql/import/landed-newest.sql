-- The newest imports that count, of those that landed since $since_ms; at most $imports_max.
SELECT import_id::DOUBLE AS import_id, path, table_name, rows_landed::DOUBLE AS rows_landed, rows_rejected::DOUBLE AS rows_rejected,
  updated_at_ms::DOUBLE AS landed_at_ms
FROM import_file
WHERE state = 'landed' AND updated_at_ms >= $since_ms::BIGINT
ORDER BY import_id DESC
LIMIT $imports_max;
