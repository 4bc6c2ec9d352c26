-- Marks the UTC days of what was rejected before $before_ms, so that the lake forgets it too.
INSERT INTO dirty_partition (dataset, partition)
SELECT DISTINCT 'rejected_reading', strftime(make_timestamp(day_start_ms * 1000), '%Y-%m-%d') FROM rejected_reading WHERE day_start_ms < $before_ms::BIGINT;
