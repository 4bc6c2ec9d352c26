-- How many devices are in each state; "unknown" where nobody has ever said it.
SELECT coalesce(state, 'unknown') AS state, count(*)::DOUBLE AS devices FROM device_state GROUP BY ALL ORDER BY ALL;
