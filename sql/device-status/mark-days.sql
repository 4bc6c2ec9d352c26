-- Marks the days (UTC, by store time) of the transitions that came in batches after $after_batch_id as to be published.
INSERT INTO dirty_partition (dataset, partition)
SELECT DISTINCT 'device_status', strftime(make_timestamp(store_time_ms * 1000), '%Y-%m-%d')
FROM device_status
WHERE batch_id > $after_batch_id::BIGINT;
