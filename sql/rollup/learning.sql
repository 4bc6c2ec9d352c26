-- Whether there is something to learn from the series in context, and the UTC days it is on.
SELECT min(lo_ms) // 86400000 * 86400000 AS low_ms, max(hi_ms) // 86400000 * 86400000 + 86399999 AS high_ms FROM context WHERE learns;
