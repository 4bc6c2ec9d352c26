-- 10 Extract: from messages to readings.
--
-- Reads   message (landed messages; kind 0 is telemetry), archived_message (messages of the lake that are
--         read again), name, batch, stream_setting, unit_factor; known_reading, superseded_reading,
--         rejected_reading, series (what was read before); energy_stream, pending_change, set_aside,
--         correction, declared_source (for find_next_batches).
-- Writes  extracted (one row for each field of a message that an energy stream reads, with the value in Wh or
--         W, or with the reason why it is rejected), rejected_reading (the number of rejected readings, with
--         samples), energy_stream (how far each stream has read), archived_message, dirty_partition.
-- Why     This chapter alone decides about units, range and validity of a new reading. So every later chapter
--         can rely on it: a value is a finite number in the range of its method, and its time is possible.

-- name: find_next_batches
-- Returns one row: the next batches to roll up, and what the caller compares with its last call. The batches
-- are whole ones with at most $messages_max messages together, but at least one batch. A kept connection
-- binds its settings again if the fingerprints differ.
-- Columns:
--   batch_id                 the last of the next batches; null if no batch is new
--   messages, batches        how many messages and batches are next
--   all_taken_id             the last batch that was rolled up for every configured stream
--   any_taken_id             the last one that was rolled up for any stream
--   streams                  fingerprint of the stored energy streams
--   newest_id                the newest batch of the warehouse
--   archived                 there are messages of the lake to read again
--   has_pending              devices wait for new limits (chapter 36)
--   set_aside, corrections   number of rows in these tables
--   sources                  fingerprint of the declared sources
WITH stream AS MATERIALIZED (
  -- One row about the stored energy streams.
  SELECT min(batch_id) FILTER (settings IS NOT NULL) AS all_taken_id, max(batch_id) AS any_taken_id,
    string_agg(stream_id || ' ' || hash(identity, settings), ',' ORDER BY stream_id) AS streams
  FROM energy_stream
), new_batch AS (
  -- The batches that some stream has not rolled up. total: the messages up to the batch.
  SELECT batch_id, message_count, sum(message_count) OVER (ORDER BY batch_id) AS total,
    row_number() OVER (ORDER BY batch_id) AS place
  FROM batch
  WHERE batch_id > (SELECT coalesce(all_taken_id, -1) FROM stream)
), next AS (
  -- One row about the next batches.
  SELECT max(batch_id) AS batch_id, sum(message_count)::BIGINT AS messages, count(*) AS batches
  FROM new_batch WHERE total <= $messages_max::BIGINT OR place = 1
)
SELECT next.*, stream.*,
  (SELECT max(batch_id) FROM batch) AS newest_id,
  (SELECT count(*) > 0 FROM archived_message) AS archived,
  (SELECT count(*) > 0 FROM pending_change) AS has_pending,
  (SELECT count(*) FROM set_aside) AS set_aside,
  (SELECT count(*) FROM correction) AS corrections,
  (SELECT count(*) || ' ' || bit_xor(hash(device, source)) FROM declared_source) AS sources
FROM next, stream;

-- name: extract_readings
-- Makes one row for each field of a new message that an energy stream reads. Each stream reads the batches
-- after $after up to $upto that it has not read yet.
-- $now_ms: the current time. $archived: there are messages of the lake to read again.
-- extracted:
--   stream_id, device
--   source_id   -1: none
--   event_time_ms
--   value       Wh or W
--   reason      null: valid
--   text        the received value of a rejected reading
--   message_id, stream_offset, batch_id
CREATE OR REPLACE TEMP TABLE extracted AS
WITH raw AS (
  -- The value of each field that a stream reads, in each new message. plain: a number. json: any other value.
  SELECT
    stream.stream_id, stream.method, stream.net, stream.modulus_wh, stream.factor, stream.multiplier, stream.dimension,
    new_message.device, coalesce(new_message.source_id, -1) AS source_id, new_message.event_time_ms,
    new_message.store_time_ms, new_message.message_id, new_message.stream_offset, new_message.batch_id,
    new_message.numbers[list_position(new_message.field_ids, field_name.name_id)] AS plain,
    -- try, because earlier versions could store text that is not JSON.
    CASE WHEN new_message.other IS NOT NULL THEN try(json_extract(new_message.other, stream.field_pointer)) END AS json,
    CASE
      WHEN new_message.other IS NOT NULL THEN try(json_extract_string(new_message.other, stream.unit_pointer))
    END AS unit
  FROM (FROM message UNION ALL BY NAME SELECT * FROM archived_message WHERE $archived) AS new_message
  JOIN name AS table_name ON table_name.name_id = new_message.table_id
  JOIN (FROM stream_setting JOIN energy_stream USING (stream_id)) AS stream
    ON stream.table_name = table_name.name AND new_message.batch_id > stream.batch_id
  LEFT JOIN name AS field_name ON field_name.name = stream.field
  WHERE new_message.batch_id > $after::BIGINT AND new_message.batch_id <= $upto::BIGINT AND new_message.kind = 0
), typed AS (
  -- These values as numbers. A text counts as a number if all of it is one. Numbers of JSON are read as their
  -- text. number is null for all other values.
  SELECT *,
    CASE
      WHEN plain IS NOT NULL THEN plain
      WHEN regexp_full_match(json ->> '$', '\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*')
        THEN try_cast(json ->> '$' AS DOUBLE)
    END AS number
  FROM raw
  WHERE plain IS NOT NULL OR json IS NOT NULL
), converted AS (
  -- The numbers in Wh or W (value). unit_value: how many Wh or W one unit is.
  SELECT typed.*,
    typed.unit IS NOT NULL AND unit_factor.factor IS NULL AS is_unit_unknown,
    CASE WHEN typed.unit IS NULL THEN typed.factor ELSE unit_factor.factor * typed.multiplier END AS unit_value,
    typed.number * unit_value AS value
  FROM typed
  LEFT JOIN unit_factor ON unit_factor.dimension = typed.dimension AND unit_factor.unit = typed.unit
), checked AS (
  -- The values, with the first reason to reject each of them; null: valid.
  SELECT *,
    CASE
      WHEN device IS NULL THEN 'no_device'
      -- The store time can come from the server of another vendor. It counts only up to a day after our own
      -- clock, because a reading of the year 9999 would spread its energy over thousands of years.
      WHEN event_time_ms > least(store_time_ms, $now_ms::BIGINT + day_ms()) + future_ms() THEN 'future'
      WHEN event_time_ms < clock_set_ms() THEN 'clock_not_set'
      WHEN number IS NULL AND json_type(json) = 'NULL' THEN 'null'
      WHEN number IS NULL THEN 'not_a_number'
      WHEN NOT isfinite(number) THEN 'not_finite'
      WHEN is_unit_unknown THEN 'unknown_unit'
      WHEN is_smallest_integer(number) THEN 'sentinel'
      -- A register with a modulus can reach the largest integer.
      WHEN is_largest_integer(number) AND (modulus_wh IS NULL OR method = 'power_curve') THEN 'sentinel'
      -- Registers have ordinary values of 16 bits. So has power in a large unit.
      WHEN is_end_of_16_bits(number) AND method = 'power_curve' AND unit_value < w_per_kw() THEN 'sentinel'
      WHEN number < 0 AND is_register(method) AND NOT net THEN 'negative'
      WHEN abs(value) > value_max(method) THEN 'out_of_range'
    END AS reason
  FROM converted
)
SELECT
  stream_id, device, source_id, event_time_ms, value, reason,
  CASE WHEN reason IS NOT NULL THEN coalesce(json_extract_string(json, '$'), plain::VARCHAR) END AS text,
  message_id, stream_offset, batch_id
FROM checked;

-- name: drop_reread_readings
-- If messages of the lake are read again ($low_ms, $high_ms: their event times), drops the valid readings of
-- them that are stored already. A message is identified by its device, offset and event time.
DELETE FROM extracted USING (
  SELECT series.stream_id, series.device, known_reading.event_time_ms, known_reading.stream_offset
  FROM known_reading JOIN series USING (series_id)
  WHERE known_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
  UNION ALL BY NAME
  SELECT series.stream_id, series.device, superseded_reading.event_time_ms, superseded_reading.stream_offset
  FROM superseded_reading JOIN series USING (series_id)
  WHERE superseded_reading.event_time_ms BETWEEN $low_ms::BIGINT AND $high_ms::BIGINT
) AS known
WHERE extracted.batch_id IN (SELECT batch_id FROM archived_message)
  AND extracted.stream_id = known.stream_id
  AND extracted.device = known.device
  AND extracted.event_time_ms = known.event_time_ms
  AND extracted.stream_offset = known.stream_offset
  AND extracted.reason IS NULL;

-- name: read_archived_range
-- Returns the first and last event time of the messages of the lake that are read again, up to batch $upto;
-- nulls if there are none.
SELECT min(event_time_ms) AS low_ms, max(event_time_ms) AS high_ms
FROM archived_message
WHERE batch_id <= $upto::BIGINT;

-- name: delete_archived
-- Deletes the messages of the lake that every stream has read.
DELETE FROM archived_message WHERE batch_id <= (SELECT min(batch_id) FROM energy_stream WHERE settings IS NOT NULL);

-- name: drop_reread_rejections
-- Drops the extracted rejections that were counted before: the same device, source, field and reason, in the
-- counted time range. $low_ms, $high_ms: as in drop_reread_readings.
DELETE FROM extracted USING (
  SELECT stream_setting.stream_id, rejected_reading.device, rejected_reading.source, rejected_reading.reason,
    rejected_reading.first_ms, rejected_reading.last_ms
  FROM rejected_reading JOIN stream_setting USING (field)
  WHERE rejected_reading.first_ms <= $high_ms::BIGINT AND rejected_reading.last_ms >= $low_ms::BIGINT
) AS known
WHERE extracted.batch_id IN (SELECT batch_id FROM archived_message)
  AND extracted.reason = known.reason
  AND extracted.stream_id = known.stream_id
  AND extracted.device = known.device
  AND known.source = coalesce((SELECT name FROM name WHERE name_id = extracted.source_id), 'default')
  AND extracted.event_time_ms BETWEEN known.first_ms AND known.last_ms;

-- name: collect_rejected
-- Groups the rejected readings by device, source, field and reason. $now_ms: the current time. Nulls are
-- counted without samples, because they contain nothing to show.
-- rejected_now: columns of rejected_reading
CREATE OR REPLACE TEMP TABLE rejected_now AS
SELECT $now_ms::BIGINT // day_ms() * day_ms() AS day_start_ms, import_id, device, source, field, reason,
  count(*) AS readings, min(event_time_ms) AS first_ms, max(event_time_ms) AS last_ms,
  coalesce(
    min_by(
      {event_time_ms: event_time_ms, stream_offset: stream_offset, batch_id: batch_id,
        text: left("text", sample_text_max())},
      coalesce(stream_offset, 0), samples_max()
    ) FILTER (reason <> 'null'),
    []
  ) AS samples
FROM (
  -- DISTINCT, because a reading that several streams read counts once.
  SELECT DISTINCT
    CASE WHEN batch.origin LIKE 'import:%' THEN extracted.batch_id // import_batches_max() ELSE 0 END AS import_id,
    extracted.device, coalesce(name.name, 'default') AS source, stream_setting.field, extracted.reason,
    extracted.event_time_ms, extracted.stream_offset, extracted.batch_id, extracted."text"
  FROM extracted
  JOIN stream_setting USING (stream_id)
  LEFT JOIN batch USING (batch_id)
  LEFT JOIN name ON name.name_id = extracted.source_id
  WHERE extracted.reason IS NOT NULL
)
GROUP BY import_id, device, source, field, reason;

-- name: add_rejected_counts
-- Adds the counts to the rejections of the same UTC day.
MERGE INTO rejected_reading USING rejected_now
ON rejected_reading.day_start_ms = rejected_now.day_start_ms AND rejected_reading.import_id = rejected_now.import_id
  AND rejected_reading.device IS NOT DISTINCT FROM rejected_now.device
  AND rejected_reading.source = rejected_now.source AND rejected_reading.field = rejected_now.field
  AND rejected_reading.reason = rejected_now.reason
WHEN MATCHED THEN UPDATE SET readings = rejected_reading.readings + rejected_now.readings,
  first_ms = least(rejected_reading.first_ms, rejected_now.first_ms),
  last_ms = greatest(rejected_reading.last_ms, rejected_now.last_ms),
  samples = list_concat(rejected_reading.samples, rejected_now.samples)[1:samples_max()]
WHEN NOT MATCHED THEN INSERT BY NAME;

-- name: mark_rejections_dirty
-- Marks the UTC day, so that it is published again.
INSERT INTO dirty_partition BY NAME
SELECT DISTINCT 'rejected_reading' AS dataset, make_timestamp_ms(day_start_ms)::DATE::VARCHAR AS partition
FROM rejected_now;

-- name: advance_streams
-- Stores that all batches up to $batch_id are rolled up for the configured streams.
UPDATE energy_stream
SET batch_id = greatest(batch_id, $batch_id::BIGINT)
WHERE stream_id IN (SELECT stream_id FROM stream_setting);
