-- The file was given up.
UPDATE import_file SET state = 'dropped', updated_at_ms = $now_ms::BIGINT WHERE import_id = $import_id::BIGINT;
