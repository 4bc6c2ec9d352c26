-- The columns of table message, to be compared with those that landing writes by position.
-- Columns: column_name, data_type.
SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'message' ORDER BY column_index
