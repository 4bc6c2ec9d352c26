-- What each source brought on each day of a zone, also those that another one contains.
--
-- Reads  scope_source, source_interval, interval_sum (which intervals are told), role
-- Writes "day_part", one row for each scope, day, source and role of it:
--   scope_id, day, device, source, role, container (see scope_source)
--   wh          Wh by the sign of the member; null where it is not known
WITH told AS (
  SELECT c.scope_id, t.day, c.device, c.source, c.role, c.negative_role, c.container, c.sign, i.energy_wh, i.is_known, i.has_shape
  FROM interval_sum t
  JOIN scope_source c ON c.scope_id = t.scope_id AND c.own_day = t.own_day
  JOIN source_interval i ON i.device = c.device AND i.source = c.source AND i.own_day = c.own_day AND i.at_ms = t.at_ms
)
SELECT scope_id, day, device, source, role, container, CASE WHEN bool_and(is_known) THEN sum(sign * energy_wh) END::BIGINT AS wh
FROM told WHERE negative_role IS NULL
GROUP BY ALL
UNION ALL
SELECT scope_id, day, device, source, role, container, CASE WHEN bool_and(is_known AND has_shape) THEN sum(sign * greatest(energy_wh, 0)) END::BIGINT
FROM told WHERE negative_role IS NOT NULL
GROUP BY ALL
UNION ALL
SELECT scope_id, day, device, source, negative_role, container, CASE WHEN bool_and(is_known AND has_shape) THEN sum(sign * greatest(-energy_wh, 0)) END::BIGINT
FROM told WHERE negative_role IN (SELECT role FROM role)
GROUP BY ALL
