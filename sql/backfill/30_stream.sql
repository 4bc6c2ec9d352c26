-- 30 Stream: pieces that are read from an upstream, and the messages of them that have landed before.
--
-- Reads   message, batch, quarantine; files of the lake.
-- Writes  backfill_chunk, checkpoint.
-- Why     A message never lands twice, whether the warehouse still has it or only the lake.

-- name: find_landed
-- Returns which of $offsets (from $low to $high, of the log $log_epoch) are in the warehouse. The event time
-- is returned too, because a log that lost its end can give an offset twice.
-- Columns: stream_offset, event_time_ms
SELECT message.stream_offset, message.event_time_ms
FROM message
JOIN batch USING (batch_id)
WHERE message.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND message.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND batch.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (batch.origin = 'stream' OR starts_with(batch.origin, 'backfill:'));

-- name: find_landed_in_lake
-- The same for the messages in files of the lake ($files).
-- Columns: stream_offset, event_time_ms
SELECT stored.stream_offset, epoch_ms(stored.event_time) AS event_time_ms
FROM read_parquet($files, hive_partitioning = false) AS stored
JOIN batch USING (batch_id)
WHERE stored.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND stored.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND batch.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (batch.origin = 'stream' OR starts_with(batch.origin, 'backfill:'));

-- name: find_trimmed
-- Returns true if messages with store times from $first_ms to $last_ms have landed that the warehouse no
-- longer has. Batches leave it in the order of their ids.
-- Columns: is_trimmed
SELECT count(*) > 0 AS is_trimmed
FROM batch
WHERE message_count > 0
  AND first_store_time_ms <= $last_ms::BIGINT
  AND last_store_time_ms >= $first_ms::BIGINT
  AND batch_id < coalesce((SELECT min(batch_id) FROM message), (SELECT max(batch_id) + 1 FROM batch));

-- name: find_quarantined_offsets
-- Returns which of these messages ($offsets) are in quarantine.
-- Columns: stream_offset
SELECT stream_offset FROM quarantine WHERE stage = 'land' AND list_contains($offsets::UBIGINT[], stream_offset);

-- name: find_quarantined_bytes
-- Returns true if a message without an offset is in quarantine already. $bytes: the message as received.
-- Columns: is_known
SELECT count(*) > 0 AS is_known FROM quarantine WHERE stage = 'land' AND stream_offset IS NULL AND bytes = $bytes;

-- name: mark_not_whole
-- Stores that the upstream no longer has all messages of a piece.
UPDATE backfill_chunk SET is_whole = false WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;

-- name: finish_piece
-- Ends a piece. Its number of landed messages comes from the ledger of batches.
UPDATE backfill_chunk
SET
  state = 'done',
  messages_landed = coalesce((SELECT sum(message_count) FROM batch WHERE origin = $origin), 0),
  updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;

-- name: forget_position
-- Deletes the position of a piece that has ended.
DELETE FROM checkpoint WHERE origin = $origin;

-- name: forget_positions
-- Deletes the positions of a cancelled backfill.
DELETE FROM checkpoint WHERE starts_with(origin, 'backfill:' || $backfill_id::BIGINT || ':');
