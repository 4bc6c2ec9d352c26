-- How many versions daily_energy_history has of the days from $start_day up to, not including, $end_day (local days).
SELECT count(*)::DOUBLE AS row_count FROM daily_energy_history WHERE day >= $start_day::DATE AND day < $end_day::DATE;
