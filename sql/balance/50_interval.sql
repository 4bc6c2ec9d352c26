-- 50 Interval: the balance of each interval.
--
-- Reads   "scope_source", "scope_role", "scope_day", "scope_peak", "slot", "source_interval", "flow",
--         "role_flow", "rule".
-- Writes  "interval_flow" (what is known of each interval), "interval_role" (the energy of each role),
--         "interval_sum" (all roles, self-consumption and the residual), "rest" (containers minus their
--         parts), "level" of intervals.
-- Why     Self-consumption must be computed by interval. Sums of days do not contain it.

-- name: find_interval_flow
-- Lists the intervals of each scope that are over, with what is measured and how the rest is computed. An
-- interval of the last hour is left out until it is known. One row for each scope and interval.
-- Reads scope_day, scope_peak, slot, flow, rule.
-- interval_flow:
--   scope_id, own_day, day, at_ms
--   way, computed, is_grid_known   see scope_day
--   into_wh, grid_net_wh           see flow; 0 for a scope without sources
--   is_complete                    every measured role is known
--   is_netted                      import and export are two sides of one net energy
--   is_undetermined                roles are unknown and cannot be computed
--   is_estimated                   see flow
--   is_shapeless                   has_shape of flow is false
--   tolerance                      Wh: steps of the registers, at least the rule's. It does not end in _wh,
--                                  because it is no energy (see chapter 60)
--   kwp                            peak power of producing devices; null if one is unknown
--   has_peak                       one of them has a peak power
SELECT scope_day.scope_id, scope_day.own_day, slot.day, slot.at_ms, scope_day.way, scope_day.computed,
  scope_day.is_grid_known,
  CASE WHEN flow.scope_id IS NULL THEN 0 ELSE flow.into_wh END AS into_wh,
  CASE WHEN flow.scope_id IS NULL THEN 0 ELSE flow.grid_net_wh END AS grid_net_wh,
  NOT coalesce(flow.has_gap, false) AS is_complete,
  coalesce(flow.is_signed, false) OR scope_day.way = 'netted' AS is_netted,
  scope_day.way IN ('undetermined', 'not_netted') AS is_undetermined,
  coalesce(flow.is_estimated, false) AS is_estimated,
  NOT coalesce(flow.has_shape, true) AS is_shapeless,
  greatest(coalesce(flow.step_wh, 0), (SELECT tolerance_wh FROM rule)) AS tolerance,
  scope_peak.kwp, scope_peak.scope_id IS NOT NULL AS has_peak
FROM scope_day
JOIN slot ON slot.own_day = scope_day.own_day
LEFT JOIN flow ON flow.scope_id = scope_day.scope_id AND flow.at_ms = slot.at_ms
LEFT JOIN scope_peak ON scope_peak.scope_id = scope_day.scope_id AND scope_peak.own_day = scope_day.own_day
WHERE is_complete OR slot.at_ms + (SELECT interval_ms + grace_ms FROM rule) <= (SELECT now_ms FROM rule);

-- name: find_interval_role
-- Finds the energy of each role in each interval. A measured role is its sum, an absent role is 0, and an
-- unknown role is the rest. What is left of the energy in went out by the unknown role. If that role brings
-- energy in, the sign is the opposite. A measured role with a gap is null, never zero and never computed. One
-- row for each scope, interval and role.
-- Reads interval_flow, scope_role, role_flow.
-- interval_role:
--   scope_id, at_ms, role
--   wh       a computed one keeps its sign, because a negative rest is energy that was not measured; null if
--            unknown
--   is_gap   a source of the role is unknown
SELECT interval_flow.scope_id, interval_flow.at_ms, scope_role.role,
  CASE
    WHEN scope_role.state = 'measured' THEN role_flow.wh
    WHEN scope_role.state = 'absent' THEN 0
    WHEN interval_flow.way = 'computed' THEN -scope_role.side * interval_flow.into_wh
    -- Unknown import and export: the rest is one or the other, by its sign.
    WHEN interval_flow.way = 'netted' AND NOT interval_flow.is_shapeless AND interval_flow.into_wh IS NOT NULL
      THEN greatest(-scope_role.side * interval_flow.into_wh, 0)
  END::BIGINT AS wh,
  coalesce(role_flow.is_gap, false) AS is_gap
FROM interval_flow
JOIN scope_role ON scope_role.scope_id = interval_flow.scope_id AND scope_role.own_day = interval_flow.own_day
LEFT JOIN role_flow
  ON role_flow.scope_id = interval_flow.scope_id AND role_flow.at_ms = interval_flow.at_ms
  AND role_flow.role = scope_role.role;

-- name: find_interval_sum
-- Computes the balance of each interval: `production + import + discharge = consumption + export + charge +
-- residual`, to the Wh. One row for each row of interval_flow, with the roles as columns.
-- Reads interval_flow, interval_role.
-- interval_sum:
--   scope_id, own_day, day, at_ms
--   <role>_wh                                wh of interval_role
--   grid_net_wh                              import - export; it can be known even if the two are not
--   residual_wh                              rest of the measured roles; 0 if a role is computed
--   self_consumption_wh, self_supply_wh      production - export, consumption - import
--   grid_to_battery_wh, battery_to_grid_wh   the least energy that went this way; null if the shape is
--                                            unknown
--   <role>_gap                               is_gap of interval_role
--   computed, is_complete, is_netted, is_undetermined, is_estimated, is_shapeless
--   tolerance, kwp, has_peak
WITH role_column AS (
  -- <role>_wh and <role>_gap, of one scope and interval in one row.
  FROM interval_role
  PIVOT (
    any_value(wh) AS wh, bool_or(is_gap) AS gap
    FOR role IN ('production', 'consumption', 'grid_import', 'grid_export', 'battery_charge', 'battery_discharge')
    GROUP BY scope_id, at_ms
  )
)
-- Names without a table are columns of role_column.
SELECT interval_flow.scope_id, interval_flow.own_day, interval_flow.day, interval_flow.at_ms,
  role_column.* EXCLUDE (scope_id, at_ms),
  CASE
    WHEN interval_flow.way IN ('netted', 'not_netted') THEN -interval_flow.into_wh
    WHEN interval_flow.is_grid_known THEN coalesce(grid_import_wh - grid_export_wh, interval_flow.grid_net_wh)
    ELSE grid_import_wh - grid_export_wh
  END::BIGINT AS grid_net_wh,
  CASE
    WHEN interval_flow.way = 'measured' THEN interval_flow.into_wh
    WHEN interval_flow.way <> 'undetermined' AND interval_flow.into_wh IS NOT NULL THEN 0
  END::BIGINT AS residual_wh,
  production_wh - grid_export_wh AS self_consumption_wh,
  consumption_wh - grid_import_wh AS self_supply_wh,
  CASE
    WHEN NOT interval_flow.is_shapeless AND battery_charge_wh IS NOT NULL AND consumption_wh IS NOT NULL
      AND grid_import_wh IS NOT NULL
      THEN least(battery_charge_wh, greatest(0, grid_import_wh - greatest(consumption_wh, 0)))
  END AS grid_to_battery_wh,
  CASE
    WHEN NOT interval_flow.is_shapeless AND battery_discharge_wh IS NOT NULL AND production_wh IS NOT NULL
      AND grid_export_wh IS NOT NULL
      THEN least(battery_discharge_wh, greatest(0, grid_export_wh - production_wh))
  END AS battery_to_grid_wh,
  interval_flow.computed, interval_flow.is_complete, interval_flow.is_netted, interval_flow.is_undetermined,
  interval_flow.is_estimated, interval_flow.is_shapeless, interval_flow.tolerance, interval_flow.kwp,
  interval_flow.has_peak
FROM interval_flow
JOIN role_column ON role_column.scope_id = interval_flow.scope_id AND role_column.at_ms = interval_flow.at_ms;

-- name: find_rest
-- Computes the rest of a source, or of a computed role of a site, after subtracting the sources that it
-- contains. One row for each scope, interval and container.
-- Reads scope_source, slot, source_interval, interval_role.
-- rest:
--   scope_id, day, at_ms
--   container   series of the source that contains others; `site`, or `site.<role>`, for the computed role of
--               a site
--   rest_wh     Wh; null if the container or a part of it is unknown
WITH contained AS (
  -- One row for each container and interval: the sources that it contains, added. signed_part_wh: by the
  -- signs of the members.
  SELECT scope_source.scope_id, slot.day, slot.at_ms, scope_source.container, any_value(scope_source.role) AS role,
    any_value(scope_source.own_day) AS own_day,
    CASE WHEN bool_and(source_interval.is_known) THEN sum(source_interval.energy_wh) END AS part_wh,
    CASE WHEN bool_and(source_interval.is_known) THEN sum(scope_source.sign * source_interval.energy_wh) END
      AS signed_part_wh
  FROM scope_source
  JOIN source_interval
    ON source_interval.device = scope_source.device AND source_interval.source = scope_source.source
    AND source_interval.own_day = scope_source.own_day
  JOIN slot ON slot.at_ms = source_interval.at_ms
  WHERE scope_source.container IS NOT NULL
  GROUP BY scope_source.scope_id, slot.day, slot.at_ms, scope_source.container
)
-- Containers that are sources.
SELECT contained.scope_id, contained.day, contained.at_ms, contained.container,
  (source_interval.energy_wh - contained.part_wh)::BIGINT AS rest_wh
FROM contained
JOIN scope_source
  ON scope_source.scope_id = contained.scope_id AND scope_source.own_day = contained.own_day
  AND scope_source.series = contained.container
JOIN source_interval
  ON source_interval.device = scope_source.device AND source_interval.source = scope_source.source
  AND source_interval.own_day = scope_source.own_day AND source_interval.at_ms = contained.at_ms
UNION ALL BY NAME
-- Computed roles of a site.
SELECT contained.scope_id, contained.day, contained.at_ms, contained.container,
  (interval_role.wh - contained.signed_part_wh)::BIGINT AS rest_wh
FROM contained
JOIN interval_role
  ON interval_role.scope_id = contained.scope_id AND interval_role.at_ms = contained.at_ms
  AND interval_role.role = contained.role
WHERE contained.container = 'site' OR starts_with(contained.container, 'site.');

-- name: find_interval_level
-- Selects the intervals in the form of a level (see judge). One row for each scope and interval.
-- Reads interval_sum, rest.
-- level:
--   columns of interval_sum
--   period                           the start, as YYYY-MM-DDTHH:MM:SSZ
--   intervals                        1
--   known_intervals                  1 if every measured role is known, else 0
--   days, complete_days, yield       null
--   is_incomplete, is_peak_unknown   false
--   rest                             map from each container to its rest_wh (see find_rest)
SELECT interval_sum.*, strftime(make_timestamp(interval_sum.at_ms * 1000), '%Y-%m-%dT%H:%M:%SZ') AS period,
  1 AS intervals, is_complete::INTEGER AS known_intervals, NULL::BIGINT AS days, NULL::BIGINT AS complete_days,
  NULL::DOUBLE AS yield, false AS is_incomplete, false AS is_peak_unknown, rest_of_interval.rest
FROM interval_sum
LEFT JOIN (
  SELECT scope_id, at_ms, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest
  FROM rest
  GROUP BY scope_id, at_ms
) AS rest_of_interval
  ON rest_of_interval.scope_id = interval_sum.scope_id AND rest_of_interval.at_ms = interval_sum.at_ms;
