-- Stores the intervals that have been computed again.
INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, exact_wh, covered_ms, flags, last_ms, last_value)
SELECT p.series_id, p.interval_index * 900000, p.energy_wh, p.exact_wh, p.covered_ms, p.flags, p.last_ms, p.last_value
FROM interval_part p
JOIN context c ON c.series_id = p.series_id AND p.interval_index * 900000 >= c.lo_ms AND p.interval_index * 900000 < c.hi_ms
ORDER BY p.interval_index, p.series_id;
