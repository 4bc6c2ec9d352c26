-- What happened to a register ($series_id) between two instants ($low_ms, $high_ms).
SELECT kind, from_ms::DOUBLE AS from_ms, to_ms::DOUBLE AS to_ms, value_before, value_after, energy_wh
FROM energy_event
WHERE series_id = $series_id AND to_ms >= $low_ms::BIGINT AND from_ms <= $high_ms::BIGINT
ORDER BY to_ms, from_ms;
