-- The configured streams have taken in every batch up to $batch_id.
UPDATE energy_stream SET batch_id = greatest(batch_id, $batch_id::BIGINT) WHERE stream_id IN (SELECT stream_id FROM stream_setting);
