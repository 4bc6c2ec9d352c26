-- Records a migration in its own transaction.
-- Parameters: number, file, checksum (SHA-256, hexadecimal), applied_at_ms.
INSERT INTO schema_migration (number, file, checksum, applied_at_ms)
VALUES ($number, $file, $checksum, $applied_at_ms)
