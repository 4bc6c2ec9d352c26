-- The record of migrations, made in the transaction of the first one.
CREATE TABLE schema_migration (
  number INTEGER NOT NULL,
  file VARCHAR NOT NULL,
  checksum VARCHAR NOT NULL,
  applied_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE schema_migration IS 'Which files of sql/schema have been applied, each once, with the SHA-256 of its text';
