-- How many rows daily_energy has from $start_day up to, not including, $end_day (local days), and their energy (Wh).
SELECT count(*)::DOUBLE AS row_count, coalesce(sum(energy_wh), 0)::DOUBLE AS energy_wh
FROM daily_energy
WHERE day >= $start_day::DATE AND day < $end_day::DATE;
