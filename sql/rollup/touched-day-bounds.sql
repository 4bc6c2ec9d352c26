-- The noted days, in order of time.
SELECT DISTINCT start_ms AS low_ms, end_ms AS high_ms FROM touched_day ORDER BY low_ms;
