-- What was read again of what is past: from the upstream's retained stream, or from the messages that the lake keeps.

CREATE TABLE backfill (
  backfill_id BIGINT NOT NULL,
  source VARCHAR NOT NULL,
  request VARCHAR NOT NULL,
  from_ms BIGINT,
  to_ms BIGINT,
  table_name VARCHAR,
  state VARCHAR NOT NULL,
  note VARCHAR,
  started_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE backfill IS 'One row for each backfill that was begun';
COMMENT ON COLUMN backfill.backfill_id IS 'Number of the backfill, from 1 on';
COMMENT ON COLUMN backfill.source IS 'stream (the upstream) or archive (the lake)';
COMMENT ON COLUMN backfill.request IS 'JSON of what was asked for: the same again goes on with a backfill that is not finished';
COMMENT ON COLUMN backfill.from_ms IS 'First instant, where one was asked for: store time of the stream, event time of the archive';
COMMENT ON COLUMN backfill.to_ms IS 'First instant after it, where one was asked for';
COMMENT ON COLUMN backfill.table_name IS 'The only table that was asked for; null for all';
COMMENT ON COLUMN backfill.state IS 'running (also while nobody works on it), done, or cancelled';
COMMENT ON COLUMN backfill.note IS 'What could not be had, and why; null where everything could';
COMMENT ON COLUMN backfill.started_at_ms IS 'When it was planned';
COMMENT ON COLUMN backfill.updated_at_ms IS 'When it last moved';

CREATE TABLE backfill_chunk (
  backfill_id BIGINT NOT NULL,
  chunk_no INTEGER NOT NULL,
  gap_id BIGINT,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  messages_expected BIGINT,
  messages_landed BIGINT NOT NULL,
  state VARCHAR NOT NULL,
  is_whole BOOLEAN NOT NULL,
  updated_at_ms BIGINT NOT NULL
);
COMMENT ON TABLE backfill_chunk IS 'The pieces of a backfill, by time. What a piece of the stream has landed has the origin backfill:<backfill_id>:<chunk_no>, and a checkpoint of that name while it is under way';
COMMENT ON COLUMN backfill_chunk.backfill_id IS 'Backfill that it is a piece of';
COMMENT ON COLUMN backfill_chunk.chunk_no IS 'Number of the piece, from 0 on';
COMMENT ON COLUMN backfill_chunk.gap_id IS 'Gap that it fills; null for none';
COMMENT ON COLUMN backfill_chunk.from_ms IS 'First instant: store time of the stream, event time of the archive';
COMMENT ON COLUMN backfill_chunk.to_ms IS 'First instant after it';
COMMENT ON COLUMN backfill_chunk.messages_expected IS 'Messages that it has, where that was known beforehand';
COMMENT ON COLUMN backfill_chunk.messages_landed IS 'Messages that it brought which were not there yet; of the archive those that were read again';
COMMENT ON COLUMN backfill_chunk.state IS 'pending or done';
COMMENT ON COLUMN backfill_chunk.is_whole IS 'false where the upstream no longer had all of it';
COMMENT ON COLUMN backfill_chunk.updated_at_ms IS 'When it last moved';

CREATE TABLE archived_message (
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
COMMENT ON TABLE archived_message IS 'Messages of the lake that are rolled up again, as in table message. They are deleted once they are, and not published again';
COMMENT ON COLUMN archived_message.batch_id IS 'Batch that they are rolled up with; not the one that they landed in';
COMMENT ON COLUMN archived_message.stream_offset IS 'Position in the stream';
COMMENT ON COLUMN archived_message.table_id IS 'Name id of the table';
COMMENT ON COLUMN archived_message.kind IS '0 telemetry';
COMMENT ON COLUMN archived_message.device IS 'Device';
COMMENT ON COLUMN archived_message.source_id IS 'Name id of the source';
COMMENT ON COLUMN archived_message.event_time_ms IS 'When it was measured';
COMMENT ON COLUMN archived_message.store_time_ms IS 'When the stream service stored it';
COMMENT ON COLUMN archived_message.message_id IS 'Counter of the device';
COMMENT ON COLUMN archived_message.field_ids IS 'Name ids of the numeric fields, beside their values in numbers';
COMMENT ON COLUMN archived_message.numbers IS 'Values of the numeric fields';
COMMENT ON COLUMN archived_message.other IS 'JSON object of the fields that are not plain numbers; null where there are none';

ALTER TABLE gap ADD COLUMN closed_at_ms BIGINT;
ALTER TABLE gap ADD COLUMN closed_by BIGINT;
ALTER TABLE gap ADD COLUMN note VARCHAR;
COMMENT ON COLUMN gap.closed_at_ms IS 'When the stretch had been read after all; null while it is missing';
COMMENT ON COLUMN gap.closed_by IS 'backfill_id of the backfill that read it';
COMMENT ON COLUMN gap.note IS 'Why the last try could not fill it; null where there was none';

COMMENT ON COLUMN batch.origin IS 'Where it came from: stream, the name of an import, or a backfill (backfill:<id>:<chunk> of the stream, archive:<id> of the lake)';
