-- 30 Stream: pieces that are read from an upstream, and what of them is here already.
--
-- Reads   message, batch, quarantine; files of the lake.
-- Writes  backfill_chunk, checkpoint.
-- Why     A message that has landed before is not landed again, whether the warehouse still has it or only the lake.

-- name: find_landed
-- What has landed of the stream and is still in the warehouse: of $offsets, which lie from $low to $high, of the log $log_epoch.
-- An offset that a log gave twice (after it had lost its tail) belongs to two messages, so the event time is told beside it.
-- Columns: stream_offset, event_time_ms.
SELECT m.stream_offset, m.event_time_ms
FROM message m
JOIN batch b USING (batch_id)
WHERE m.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND m.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND b.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (b.origin = 'stream' OR starts_with(b.origin, 'backfill:'));

-- name: find_landed_in_lake
-- As find_landed, of the messages that the files of the lake ($files) hold.
-- Columns: stream_offset, event_time_ms.
SELECT m.stream_offset, epoch_ms(m.event_time) AS event_time_ms
FROM read_parquet($files, hive_partitioning = false) m
JOIN batch b USING (batch_id)
WHERE m.stream_offset BETWEEN $low::UBIGINT AND $high::UBIGINT
  AND m.stream_offset IN (SELECT unnest($offsets::UBIGINT[]))
  AND b.log_epoch IS NOT DISTINCT FROM $log_epoch
  AND (b.origin = 'stream' OR starts_with(b.origin, 'backfill:'));

-- name: find_trimmed
-- Whether messages with store times from $first_ms to $last_ms have landed that the warehouse no longer holds: batches leave it in the order
-- of their ids. Columns: is_trimmed.
SELECT count(*) > 0 AS is_trimmed
FROM batch
WHERE message_count > 0
  AND first_store_time_ms <= $last_ms::BIGINT
  AND last_store_time_ms >= $first_ms::BIGINT
  AND batch_id < coalesce((SELECT min(batch_id) FROM message), (SELECT max(batch_id) + 1 FROM batch));

-- name: find_quarantined_offsets
-- Which of these whole messages ($offsets) are in quarantine. Columns: stream_offset.
SELECT stream_offset FROM quarantine WHERE stage = 'land' AND list_contains($offsets::UBIGINT[], stream_offset);

-- name: find_quarantined_bytes
-- Whether a message without an offset is in quarantine already. $bytes: the message as it came. Columns: is_known.
SELECT count(*) > 0 AS is_known FROM quarantine WHERE stage = 'land' AND stream_offset IS NULL AND bytes = $bytes;

-- name: mark_not_whole
-- The upstream no longer has all of a piece.
UPDATE backfill_chunk SET is_whole = false WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;

-- name: finish_chunk
-- A piece of the stream is done; what it has landed is what the ledger of batches says of its origin.
UPDATE backfill_chunk
SET
  state = 'done',
  messages_landed = coalesce((SELECT sum(message_count) FROM batch WHERE origin = $origin), 0),
  updated_at_ms = $now_ms::BIGINT
WHERE backfill_id = $backfill_id::BIGINT AND chunk_no = $chunk_no::INTEGER;

-- name: forget_position
-- A piece that is over needs no position any more.
DELETE FROM checkpoint WHERE origin = $origin;

-- name: forget_positions
-- A backfill that was cancelled needs no positions any more.
DELETE FROM checkpoint WHERE starts_with(origin, 'backfill:' || $backfill_id::BIGINT || ':');
