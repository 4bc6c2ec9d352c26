-- How far a file is, in the transaction that lands what lies before. $rejected: JSON object, rows by reason
UPDATE import_file
SET
  rows_read = $rows_read::BIGINT,
  rows_landed = $rows_landed::BIGINT,
  rows_rejected = $rows_rejected::BIGINT,
  rejected = $rejected,
  updated_at_ms = $now_ms::BIGINT
WHERE import_id = $import_id::BIGINT;
