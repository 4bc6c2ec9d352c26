-- What is left of a source, or of what is computed of a site, when the sources that it contains are taken away.
--
-- Reads  scope_source, slot, source_interval, interval_sum
-- Writes "rest", one row for each scope, interval and container:
--   scope_id, day, at_ms
--   container   series of the source that contains others; `site`, or `site.<role>`, for what a whole site comes to
--   rest_wh     Wh; null where the container or a part of it is not known
WITH part AS (
  SELECT c.scope_id, s.day, s.at_ms, c.container, any_value(c.role) AS role, any_value(c.own_day) AS own_day,
    CASE WHEN bool_and(i.is_known) THEN sum(i.energy_wh) END AS part_wh,
    CASE WHEN bool_and(i.is_known) THEN sum(c.sign * i.energy_wh) END AS signed_part_wh
  FROM scope_source c
  JOIN source_interval i ON i.device = c.device AND i.source = c.source AND i.own_day = c.own_day
  JOIN slot s ON s.at_ms = i.at_ms
  WHERE c.container IS NOT NULL
  GROUP BY c.scope_id, s.day, s.at_ms, c.container
)
SELECT p.scope_id, p.day, p.at_ms, p.container, (w.energy_wh - p.part_wh)::BIGINT AS rest_wh
FROM part p
JOIN scope_source c ON c.scope_id = p.scope_id AND c.own_day = p.own_day AND c.series = p.container
JOIN source_interval w ON w.device = c.device AND w.source = c.source AND w.own_day = c.own_day AND w.at_ms = p.at_ms
UNION ALL
SELECT p.scope_id, p.day, p.at_ms, p.container,
  (CASE p.role
    WHEN 'production' THEN i.production_wh
    WHEN 'consumption' THEN i.consumption_wh
    WHEN 'grid_import' THEN i.grid_import_wh
    WHEN 'grid_export' THEN i.grid_export_wh
    WHEN 'battery_charge' THEN i.battery_charge_wh
    WHEN 'battery_discharge' THEN i.battery_discharge_wh
  END - p.signed_part_wh)::BIGINT
FROM part p
JOIN interval_sum i ON i.scope_id = p.scope_id AND i.at_ms = p.at_ms
WHERE p.container = 'site' OR starts_with(p.container, 'site.')
