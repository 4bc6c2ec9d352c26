-- 30 Other logs: messages of a log that had already landed from another log.
--
-- Reads   batch, message.
-- Writes  message, batch.
-- Why     A log that begins again numbers its messages from the start. So an offset does not show whether a
--         message has landed.

-- name: find_other_logs_through
-- Returns the newest store time of messages that landed from other logs than $log_epoch.
-- Columns: last_store_time_ms
SELECT max(last_store_time_ms) AS last_store_time_ms
FROM batch
WHERE log_epoch IS DISTINCT FROM $log_epoch AND (origin = 'stream' OR starts_with(origin, 'backfill:'));

-- name: forget_landed_before
-- Deletes the messages of batch $batch_id that had already landed from another log. A log that begins again
-- can still contain messages of the log before, with their offsets and store times.
-- $first_ms, $last_ms: range of their store times. $log_epoch: the log of the batch.
DELETE FROM message AS again
USING message AS landed, batch
WHERE again.batch_id = $batch_id::BIGINT
  AND again.store_time_ms BETWEEN $first_ms::BIGINT AND $last_ms::BIGINT
  AND landed.store_time_ms BETWEEN $first_ms::BIGINT AND $last_ms::BIGINT
  AND landed.batch_id = batch.batch_id
  AND batch.log_epoch IS DISTINCT FROM $log_epoch
  AND (batch.origin = 'stream' OR starts_with(batch.origin, 'backfill:'))
  AND landed.stream_offset = again.stream_offset
  AND landed.store_time_ms = again.store_time_ms
  AND landed.event_time_ms = again.event_time_ms
  AND landed.table_id = again.table_id
  AND landed.kind = again.kind
  AND landed.device IS NOT DISTINCT FROM again.device
  AND landed.source_id IS NOT DISTINCT FROM again.source_id
  AND landed.message_id IS NOT DISTINCT FROM again.message_id
  AND landed.field_ids = again.field_ids
  AND landed.numbers = again.numbers
  AND landed.other IS NOT DISTINCT FROM again.other;

-- name: correct_batch
-- Corrects the ledger row of batch $batch_id to the messages that are left.
UPDATE batch
SET message_count = (SELECT count(*) FROM message WHERE message.batch_id = $batch_id::BIGINT)
WHERE batch_id = $batch_id::BIGINT;
