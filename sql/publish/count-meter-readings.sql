-- How many readings of meters start from $start_ms up to, not including, $end_ms.
SELECT count(*)::DOUBLE AS row_count FROM meter_reading WHERE start_ms >= $start_ms::BIGINT AND start_ms < $end_ms::BIGINT;
