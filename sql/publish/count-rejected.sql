-- How many rows rejected_reading has from $start_ms up to, not including, $end_ms.
SELECT count(*)::DOUBLE AS row_count FROM rejected_reading WHERE day_start_ms >= $start_ms::BIGINT AND day_start_ms < $end_ms::BIGINT;
