-- A file is begun.
INSERT INTO import_file (
  import_id, path, table_name, file_bytes, content_hash, mapping_hash, state,
  rows_read, rows_landed, rows_rejected, rejected, started_at_ms, updated_at_ms
)
VALUES (
  $import_id::BIGINT, $path, $table_name, $file_bytes::BIGINT, $content_hash, $mapping_hash, 'landing',
  0, 0, 0, '{}', $now_ms::BIGINT, $now_ms::BIGINT
);
