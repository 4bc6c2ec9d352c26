-- Where landing stands: the owner of the file, and the checkpoint of one origin (null columns where it has none).
-- Parameters: origin.
-- Columns: owner_epoch, log_epoch, next_offset, last_offset, last_store_time_ms, batch_id, updated_at_ms.
SELECT
  shard.owner_epoch,
  checkpoint.log_epoch,
  checkpoint.next_offset,
  checkpoint.last_offset,
  checkpoint.last_store_time_ms,
  checkpoint.batch_id,
  checkpoint.updated_at_ms
FROM shard
LEFT JOIN checkpoint ON checkpoint.origin = $origin
