-- Which stretch of which series has to be looked at again.
-- touched: series_id, method, from_ms, to_ms, is_new; see changed
CREATE OR REPLACE TEMP TABLE touched AS
SELECT c.series_id, r.method, c.from_ms, c.to_ms, c.is_new
FROM changed c JOIN series_rule r USING (series_id)
UNION
-- A register that restarts every day tells how a lifetime register beside it grew over a silent midnight.
SELECT r.series_id, r.method, c.from_ms, c.to_ms, false
FROM changed c
JOIN series_rule d ON d.series_id = c.series_id AND d.method = 'daily_energy'
JOIN series_rule r ON r.device = d.device AND r.source = d.source AND r.method = 'total_energy'
WHERE c.to_ms >= r.first_ms AND c.from_ms <= r.last_ms;
