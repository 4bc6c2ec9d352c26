-- Every UTC day that has intervals, by its first instant.
SELECT DISTINCT (interval_start_ms // 86400000 * 86400000)::DOUBLE AS day_start_ms FROM told_interval ORDER BY ALL;
