-- How far each origin has been read. Offsets as text, because they go beyond 2^53.
SELECT origin, log_epoch, next_offset::VARCHAR AS next_offset, last_store_time_ms::DOUBLE AS last_store_time_ms
FROM checkpoint
ORDER BY origin;
