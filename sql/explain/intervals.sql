-- The stored intervals of a series ($series_id) in a day ($start_ms, $end_ms), in order. exact_nwh: billionths of a Wh, as text.
SELECT interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS energy_wh, exact_nwh, covered_ms, flags
FROM interval_energy
WHERE series_id = $series_id AND interval_start_ms >= $start_ms::BIGINT AND interval_start_ms < $end_ms::BIGINT
ORDER BY interval_start_ms;
