-- Events that have come, gone or changed among the series in context (of registers that restart every day, on the days in context).
-- changed_event: series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh, is_new
CREATE OR REPLACE TEMP TABLE changed_event AS
WITH stored AS (
  SELECT e.* FROM energy_event e JOIN context c USING (series_id)
  WHERE c.method <> 'daily_energy' OR (e.to_ms >= c.lo_ms AND e.to_ms < c.hi_ms)
)
(SELECT *, true AS is_new FROM (SELECT * FROM event_now EXCEPT SELECT * FROM stored))
UNION ALL
(SELECT *, false AS is_new FROM (SELECT * FROM stored EXCEPT SELECT * FROM event_now));
