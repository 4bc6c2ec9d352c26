-- Every table of the file, to tell a new file from a foreign one.
-- Columns: table_name.
SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() ORDER BY table_name
