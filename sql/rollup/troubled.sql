-- Series whose steps need more than the difference of neighbours: something fell, something was left out or joined, or the
-- high-water mark was above the reading where the stretch starts. Registers that restart every day always do.
-- troubled: series_id
CREATE OR REPLACE TEMP TABLE troubled AS
SELECT DISTINCT series_id FROM raw_step s JOIN series_rule r USING (series_id)
WHERE s.method = 'daily_energy' OR (s.method = 'total_energy' AND NOT r.net AND s.v1 < s.v0)
UNION
SELECT DISTINCT e.series_id FROM energy_event e JOIN context c USING (series_id)
WHERE e.to_ms >= c.first_ms AND e.from_ms <= c.last_ms
UNION
SELECT c.series_id FROM context c JOIN carry_in i USING (series_id);
