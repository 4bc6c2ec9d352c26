-- Imports that have begun and not ended. Columns: import_id.
SELECT import_id FROM import_file WHERE state = 'landing' ORDER BY import_id;
