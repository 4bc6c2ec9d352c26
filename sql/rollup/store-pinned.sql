-- Puts the two parts of each step that is cut at a pinned midnight.
INSERT INTO step
SELECT series_id, t0, c0, midnight_ms, midnight_value, covered, flags, held FROM pinned
UNION ALL
SELECT series_id, midnight_ms, midnight_value, t1, c1, covered, flags, midnight_value FROM pinned;
