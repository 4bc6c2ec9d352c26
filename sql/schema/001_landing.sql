-- What has been received, exactly once, and how far the stream has been read.
-- Written by one transaction per batch; instants are milliseconds since 1970 in UTC.

CREATE TABLE shard (
  workgroup_id VARCHAR NOT NULL,
  owner_epoch BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE shard IS 'One row: whose file this is, and the fencing epoch of the worker that owns it';
COMMENT ON COLUMN shard.owner_epoch IS 'Grows by one with every takeover; a writer with an older epoch writes nothing';

CREATE TABLE name (
  name_id INTEGER NOT NULL,
  name VARCHAR NOT NULL
);
COMMENT ON TABLE name IS 'Names of tables, sources and fields as small integers';

CREATE TABLE batch (
  batch_id BIGINT NOT NULL,
  origin VARCHAR NOT NULL,
  log_epoch VARCHAR,
  from_offset UBIGINT,
  next_offset UBIGINT,
  message_count BIGINT NOT NULL,
  quarantined_count BIGINT NOT NULL,
  first_store_time_ms BIGINT,
  last_store_time_ms BIGINT,
  landed_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE batch IS 'Ledger: one row for each batch that landed; later stages remember the last batch they have seen';
COMMENT ON COLUMN batch.origin IS 'Where it came from: stream, or the name of an import';

CREATE TABLE message (
  batch_id BIGINT NOT NULL,
  stream_offset UBIGINT,
  table_id INTEGER NOT NULL,
  kind UTINYINT NOT NULL,
  device UUID,
  source_id INTEGER,
  event_time_ms BIGINT NOT NULL,
  store_time_ms BIGINT NOT NULL,
  message_id BIGINT,
  field_ids INTEGER[] NOT NULL,
  numbers DOUBLE[] NOT NULL,
  other VARCHAR
);
COMMENT ON TABLE message IS 'Every message whole, as received';
COMMENT ON COLUMN message.kind IS '0 telemetry, 1 device status, 2 audit';
COMMENT ON COLUMN message.field_ids IS 'Name ids of the numeric fields, beside their values in numbers';
COMMENT ON COLUMN message.other IS 'JSON object of the fields that are not plain numbers (text, booleans, null, integers beyond 2^53); null where there are none';

CREATE TABLE checkpoint (
  origin VARCHAR NOT NULL,
  log_epoch VARCHAR,
  next_offset UBIGINT NOT NULL,
  last_offset UBIGINT,
  last_store_time_ms BIGINT,
  batch_id BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE checkpoint IS 'One row an origin: the offset to read next. It moves in the same transaction as the batch';

CREATE TABLE gap (
  gap_id BIGINT NOT NULL,
  origin VARCHAR NOT NULL,
  reason VARCHAR NOT NULL,
  from_offset UBIGINT,
  to_offset UBIGINT,
  from_time_ms BIGINT,
  to_time_ms BIGINT,
  detected_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE gap IS 'Stretches of the stream that could not be read: expired, recreated or lost upstream';

CREATE TABLE quarantine (
  batch_id BIGINT NOT NULL,
  stream_offset UBIGINT,
  stage VARCHAR NOT NULL,
  reason VARCHAR NOT NULL,
  detail VARCHAR,
  device UUID,
  source VARCHAR,
  field VARCHAR,
  event_time_ms BIGINT,
  bytes BLOB,
  quarantined_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE quarantine IS 'What was received and not used, whole messages (stage land) and single readings (stage rollup), with the reason';
COMMENT ON COLUMN quarantine.bytes IS 'The message as it came, where it could not be decoded';

CREATE TABLE progress (
  stage VARCHAR NOT NULL,
  batch_id BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE progress IS 'The last batch that a later stage (rollup, publish) has taken in';
