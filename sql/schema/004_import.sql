-- Files that were imported, and how far. Written in the transactions that land what the files hold.

CREATE TABLE import_file (
  import_id BIGINT NOT NULL,
  path VARCHAR NOT NULL,
  table_name VARCHAR NOT NULL,
  file_bytes BIGINT NOT NULL,
  content_hash VARCHAR NOT NULL,
  mapping_hash VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  rows_read BIGINT NOT NULL,
  rows_landed BIGINT NOT NULL,
  rows_rejected BIGINT NOT NULL,
  rejected VARCHAR NOT NULL,
  last_batch_id BIGINT,
  started_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE import_file IS 'One row for each file that was imported, or that was begun';
COMMENT ON COLUMN import_file.import_id IS 'Its batches have the ids from import_id * 10^9 + 1 on. They have no row in table batch until the whole file has landed, so that no later stage sees a part of it';
COMMENT ON COLUMN import_file.content_hash IS 'SHA-256 of the file';
COMMENT ON COLUMN import_file.mapping_hash IS 'SHA-256 of what its columns were taken for: the same file read otherwise is another import';
COMMENT ON COLUMN import_file.state IS 'landing, landed (it counts), or dropped (nothing of it is left)';
COMMENT ON COLUMN import_file.rejected IS 'JSON object: rows that were rejected, by reason. They are in table quarantine, up to some thousands of each file';
COMMENT ON COLUMN import_file.last_batch_id IS 'The last of its batches, once it has landed';
