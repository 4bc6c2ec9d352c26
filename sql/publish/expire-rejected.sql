-- Removes what was rejected before $before_ms.
DELETE FROM rejected_reading WHERE day_start_ms < $before_ms::BIGINT;
