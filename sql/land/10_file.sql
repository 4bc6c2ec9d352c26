-- 10 File: the workgroup that owns a file, and its schema.
--
-- Reads   duckdb_tables(), the columns of message, schema_migration, shard.
-- Writes  schema_migration (one row for each applied migration), shard (one row: the workgroup and the epoch
--         of the owner).
-- Why     Two processes must never write one file, and a file of another program must not be changed.

-- name: find_tables
-- Returns every table of the file, to tell a new file from one of another program.
-- Columns: table_name
SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() ORDER BY table_name;

-- name: create_migration_table
-- Creates the table of migrations, in the transaction of the first one.
CREATE TABLE schema_migration (
  number INTEGER NOT NULL,
  file VARCHAR NOT NULL,
  checksum VARCHAR NOT NULL,
  applied_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE schema_migration IS
  'Which files of sql/schema have been applied, each once, with the SHA-256 of its text';

-- name: find_migrations
-- Returns the applied migrations, in order.
-- Columns: number, file, checksum
SELECT number, file, checksum FROM schema_migration ORDER BY number;

-- name: store_migration
-- Stores a migration in its own transaction.
-- $checksum: SHA-256, hexadecimal.
INSERT INTO schema_migration (number, file, checksum, applied_at_ms)
VALUES ($number, $file, $checksum, $applied_at_ms);

-- name: find_shard
-- Returns the owner of the file; no row if nobody has owned it yet.
-- Columns: workgroup_id, owner_epoch
SELECT workgroup_id, owner_epoch FROM shard;

-- name: store_shard
-- Makes a new file the shard of a workgroup.
INSERT INTO shard (workgroup_id, owner_epoch, created_at_ms)
VALUES ($workgroup_id, $owner_epoch::BIGINT, $created_at_ms::BIGINT);

-- name: take_ownership
-- Stores a new owner epoch, so that earlier owners can write no more.
UPDATE shard SET owner_epoch = $owner_epoch::BIGINT;

-- name: find_message_columns
-- Returns the columns of table message, because landing writes them by position. duckdb_columns() would first
-- find the columns of every built-in view, which takes as long as opening the file.
-- Columns: name, type
SELECT name, type FROM pragma_table_info('message') ORDER BY cid;
