-- Series whose steps need more than the difference of neighbours: something fell, something was left out or joined, the high-water
-- mark was above the reading where the stretch starts, or the day matters: registers that restart every day, lifetime registers with
-- one of those beside them, registers that are read within the day alone.
-- troubled: series_id
CREATE OR REPLACE TEMP TABLE troubled AS
SELECT DISTINCT s.series_id FROM (SELECT * FROM raw_step WHERE is_suspect AND v1 < v0) AS s JOIN series_rule r USING (series_id)
WHERE r.method = 'total_energy' AND NOT r.net
UNION
SELECT c.series_id FROM context c JOIN series_rule r USING (series_id)
WHERE c.method = 'daily_energy' OR (c.method = 'total_energy' AND (r.within_day OR EXISTS (
  SELECT 1 FROM series_rule d WHERE d.method = 'daily_energy' AND d.device = r.device AND d.source = r.source)))
UNION
SELECT DISTINCT e.series_id FROM energy_event e JOIN context c USING (series_id)
WHERE e.to_ms >= c.first_ms AND e.from_ms <= c.last_ms
UNION
SELECT c.series_id FROM context c JOIN carry_in i USING (series_id);
