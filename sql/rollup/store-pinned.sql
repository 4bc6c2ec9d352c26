-- Puts the two parts of each step that is cut at a pinned midnight. One that is an estimate is marked as the other wide bounds are, see
-- store-register-intervals.
INSERT INTO step
SELECT series_id, t0, c0, midnight_ms, midnight_value, covered, flags | CASE WHEN estimated THEN 32769 ELSE 0 END, held FROM pinned
UNION ALL
SELECT series_id, midnight_ms, midnight_value, t1, c1, covered, flags | CASE WHEN estimated THEN 16385 ELSE 0 END, midnight_value FROM pinned;
