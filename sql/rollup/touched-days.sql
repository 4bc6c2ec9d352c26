-- The touched time by UTC day, in order.
SELECT min(from_ms) AS low_ms, max(to_ms) AS high_ms FROM touched GROUP BY from_ms // 86400000 ORDER BY low_ms;
