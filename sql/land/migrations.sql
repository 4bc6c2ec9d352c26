-- The migrations that have been applied, in order.
-- Columns: number, file, checksum.
SELECT number, file, checksum FROM schema_migration ORDER BY number
