-- Every UTC day on which readings were rejected, by its first instant.
SELECT DISTINCT day_start_ms::DOUBLE AS day_start_ms FROM rejected_reading ORDER BY ALL;
