-- How many transitions were stored from $start_ms up to, not including, $end_ms.
SELECT count(*)::DOUBLE AS row_count
FROM device_status
WHERE store_time_ms >= $start_ms::BIGINT AND store_time_ms < $end_ms::BIGINT;
