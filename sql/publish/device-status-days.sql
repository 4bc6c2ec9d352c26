-- Every UTC day that transitions were stored on, by its first instant.
SELECT DISTINCT (store_time_ms // 86400000 * 86400000)::DOUBLE AS day_start_ms FROM device_status ORDER BY ALL;
