-- Imports that count for nothing yet: those that land, and those that were given up and have not landed since.
-- Columns: path, state, rows_read, updated_at_ms.
SELECT path, state, rows_read::DOUBLE AS rows_read, updated_at_ms::DOUBLE AS updated_at_ms
FROM import_file f
WHERE state = 'landing' OR (state = 'dropped' AND import_id = (
  SELECT max(o.import_id) FROM import_file o WHERE o.content_hash = f.content_hash OR o.path = f.path))
ORDER BY import_id;
