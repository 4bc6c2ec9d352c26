-- Months of the lake in which readings have come or no longer count.
INSERT INTO dirty_partition
SELECT DISTINCT 'meter_reading', strftime(make_timestamp(start_ms * 1000), '%Y-%m')
FROM meter_reading WHERE upload_id = $upload_id OR replaced_by = $upload_id;
