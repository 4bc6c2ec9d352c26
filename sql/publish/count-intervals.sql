-- How many intervals there are to tell that start from $start_ms up to, not including, $end_ms, and their energy (Wh).
SELECT count(*)::DOUBLE AS row_count, coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh
FROM told_interval
WHERE interval_start_ms >= $start_ms::BIGINT AND interval_start_ms < $end_ms::BIGINT;
