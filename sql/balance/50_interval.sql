-- 50 Interval: the balance of each interval.
--
-- Reads   "scope", "scope_source", "scope_day", "scope_peak", "slot", "source_interval", "role", "rule".
-- Writes  "flow" (the measured energy of each role), "interval_sum" (all roles, self-consumption and the
--         residual), "rest" (containers minus their parts), "level" of intervals.
-- Why     Self-consumption must be computed by interval. Sums of days do not contain it.

-- name: sum_flow
-- Sums the measured energy of each role, by scope and interval. A net register counts for its role if it rose
-- and for its negative role if it fell. If its shape is unknown, the two cannot be separated, but their
-- difference is known. One row for each scope and interval that has a source.
-- Reads scope_source, slot, source_interval, role.
-- flow:
--   scope_id, own_day, day, at_ms
--   <role>_wh      by the signs of the members; null if no source has the role or one is unknown
--   <role>_gap     a source of the role is unknown
--   into_wh        energy in minus energy out over all roles; null if a source is unknown
--   grid_net_wh    the same of import and export alone
--   has_gap        a source is unknown
--   has_shape      for every source the distribution over time is known
--   is_signed      a net register is among them
--   is_estimated   a bound of the interval was interpolated for one of them
--   step_wh        steps of the registers, added
WITH part AS (
  -- One row for each source and interval. rise_wh is its energy for role, fall_wh for negative_role.
  -- is_signed: it is a net register. is_open: these two are not known. is_whole: all of its roles are
  -- part of the balance, so its energy as one amount is enough for into_wh.
  SELECT sso.scope_id, sso.own_day, sl.day, sl.at_ms, sso.role, sso.negative_role, sso.sign, si.energy_wh, si.is_known,
    si.has_shape, si.is_estimated, si.step_wh,
    sso.negative_role IS NOT NULL AS is_signed,
    sso.sign * CASE WHEN is_signed THEN greatest(si.energy_wh, 0) ELSE si.energy_wh END AS rise_wh,
    sso.sign * greatest(-si.energy_wh, 0) AS fall_wh,
    NOT si.is_known OR (is_signed AND NOT si.has_shape) AS is_open,
    coalesce(sso.negative_role <> 'other', true) AS is_whole
  FROM scope_source sso
  JOIN source_interval si ON si.device = sso.device AND si.source = sso.source AND si.own_day = sso.own_day
  JOIN slot sl ON sl.at_ms = si.at_ms
  WHERE sso.counts
), sided AS (
  -- The part of each source in into_wh and in grid_net_wh, positive into the scope, and whether it is
  -- unknown. is_grid: one of its roles is import or export. is_both: both are, so one amount is enough.
  SELECT p.*,
    own.side * CASE WHEN is_whole THEN p.sign * p.energy_wh ELSE p.rise_wh END AS into_part_wh,
    CASE WHEN is_whole THEN NOT p.is_known ELSE p.is_open END AS is_into_open,
    p.role IN ('grid_import', 'grid_export') AS is_role_grid,
    coalesce(p.negative_role IN ('grid_import', 'grid_export'), false) AS is_negative_grid,
    is_role_grid AND is_negative_grid AS is_both,
    is_role_grid OR is_negative_grid AS is_grid,
    CASE
      WHEN is_both THEN own.side * p.sign * p.energy_wh
      WHEN is_role_grid THEN own.side * p.rise_wh
      WHEN is_negative_grid THEN negative.side * p.fall_wh
    END AS grid_part_wh,
    CASE WHEN is_both THEN NOT p.is_known ELSE p.is_open END AS is_grid_open
  FROM part p
  JOIN role own ON own.role = p.role
  LEFT JOIN role negative ON negative.role = p.negative_role
)
-- A sum is null if a part of it is unknown, and never a smaller sum.
SELECT scope_id, own_day, day, at_ms,
  CASE WHEN NOT bool_or(is_open) FILTER ('production' IN (role, negative_role))
    THEN sum(CASE 'production' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS production_wh,
  CASE WHEN NOT bool_or(is_open) FILTER ('consumption' IN (role, negative_role))
    THEN sum(CASE 'consumption' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS consumption_wh,
  CASE WHEN NOT bool_or(is_open) FILTER ('grid_import' IN (role, negative_role))
    THEN sum(CASE 'grid_import' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS grid_import_wh,
  CASE WHEN NOT bool_or(is_open) FILTER ('grid_export' IN (role, negative_role))
    THEN sum(CASE 'grid_export' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS grid_export_wh,
  CASE WHEN NOT bool_or(is_open) FILTER ('battery_charge' IN (role, negative_role))
    THEN sum(CASE 'battery_charge' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS battery_charge_wh,
  CASE WHEN NOT bool_or(is_open) FILTER ('battery_discharge' IN (role, negative_role))
    THEN sum(CASE 'battery_discharge' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) END AS battery_discharge_wh,
  coalesce(bool_or(NOT is_known) FILTER ('production' IN (role, negative_role)), false) AS production_gap,
  coalesce(bool_or(NOT is_known) FILTER ('consumption' IN (role, negative_role)), false) AS consumption_gap,
  coalesce(bool_or(NOT is_known) FILTER ('grid_import' IN (role, negative_role)), false) AS grid_import_gap,
  coalesce(bool_or(NOT is_known) FILTER ('grid_export' IN (role, negative_role)), false) AS grid_export_gap,
  coalesce(bool_or(NOT is_known) FILTER ('battery_charge' IN (role, negative_role)), false) AS battery_charge_gap,
  coalesce(bool_or(NOT is_known) FILTER ('battery_discharge' IN (role, negative_role)), false) AS battery_discharge_gap,
  CASE WHEN NOT bool_or(is_into_open) THEN sum(into_part_wh) END AS into_wh,
  CASE WHEN NOT bool_or(is_grid_open) FILTER (is_grid) THEN sum(grid_part_wh) END AS grid_net_wh,
  bool_or(NOT is_known) AS has_gap, bool_and(has_shape) AS has_shape, bool_or(is_signed) AS is_signed, bool_or(is_estimated) AS is_estimated,
  sum(step_wh) AS step_wh
FROM sided
GROUP BY scope_id, own_day, day, at_ms;

-- name: find_interval_sum
-- Computes the balance of each interval: `production + import + discharge = consumption + export + charge +
-- residual`, to the Wh. A measured role is its sum, an absent role is 0, and an unknown role is the rest. A
-- measured role with a gap is null, never zero and never computed. One row for each scope and interval that
-- is over; an interval of the last hour is left out until it is known.
-- Reads scope, scope_day, scope_peak, slot, flow, rule.
-- interval_sum:
--   scope_id, own_day, day, at_ms
--   <role>_wh                                computed ones keep their sign; null if unknown
--   grid_net_wh                              import - export; it can be known even if the two are not
--   residual_wh                              rest of the measured roles; 0 if a role is computed
--   self_consumption_wh, self_supply_wh      production - export, consumption - import
--   grid_to_battery_wh, battery_to_grid_wh   the least energy that went this way; null if the shape is
--                                            unknown
--   <role>_gap                               see flow
--   computed                                 roles that are computed, sorted
--   is_complete                              every measured role is known
--   is_netted                                import and export are two sides of one net energy
--   is_undetermined                          roles are unknown and cannot be computed
--   is_estimated                             see flow
--   is_shapeless                             has_shape of flow is false
--   tolerance_wh                             steps of the registers, at least the rule's
--   kwp                                      peak power of producing devices; null if one is unknown
--   has_peak                                 one of them has a peak power
WITH known AS (
  -- The measured and absent roles of each interval; null: unknown, or not measured in this interval.
  SELECT sc.scope_id, scd.own_day, sl.day, sl.at_ms, scd.way, scd.computed,
    CASE scd.production_state WHEN 'measured' THEN fl.production_wh WHEN 'absent' THEN 0 END AS production,
    CASE scd.consumption_state WHEN 'measured' THEN fl.consumption_wh WHEN 'absent' THEN 0 END AS consumption,
    CASE scd.grid_import_state WHEN 'measured' THEN fl.grid_import_wh WHEN 'absent' THEN 0 END AS grid_import,
    CASE scd.grid_export_state WHEN 'measured' THEN fl.grid_export_wh WHEN 'absent' THEN 0 END AS grid_export,
    CASE scd.battery_charge_state WHEN 'measured' THEN fl.battery_charge_wh WHEN 'absent' THEN 0 END AS battery_charge,
    CASE scd.battery_discharge_state WHEN 'measured' THEN fl.battery_discharge_wh WHEN 'absent' THEN 0 END AS battery_discharge,
    -- A scope without sources is balanced with nothing.
    CASE WHEN fl.scope_id IS NULL THEN 0 ELSE fl.into_wh END AS into_wh,
    CASE WHEN fl.scope_id IS NULL THEN 0 ELSE fl.grid_net_wh END AS grid_net,
    -- <role>_gap. '\0' keeps the names of the columns.
    coalesce(COLUMNS('^(production|consumption|grid|battery).*_gap$'), false) AS '\0',
    NOT coalesce(fl.has_gap, false) AS is_complete,
    NOT coalesce(fl.has_shape, true) AS is_shapeless,
    coalesce(fl.is_signed, false) OR scd.way = 'netted' AS is_netted,
    scd.way IN ('undetermined', 'not_netted') AS is_undetermined,
    scd.grid_import_state <> 'unknown' AND scd.grid_export_state <> 'unknown' AS is_grid_told,
    coalesce(fl.is_estimated, false) AS is_estimated,
    greatest(coalesce(fl.step_wh, 0), (SELECT tolerance_wh FROM rule)) AS tolerance_wh,
    sp.kwp, sp.scope_id IS NOT NULL AS has_peak
  FROM scope sc
  JOIN scope_day scd USING (scope_id)
  JOIN slot sl ON sl.own_day = scd.own_day
  LEFT JOIN flow fl ON fl.scope_id = sc.scope_id AND fl.own_day = scd.own_day AND fl.at_ms = sl.at_ms
  LEFT JOIN scope_peak sp ON sp.scope_id = sc.scope_id AND sp.own_day = scd.own_day
  WHERE is_complete OR sl.at_ms + (SELECT interval_ms + grace_ms FROM rule) <= (SELECT now_ms FROM rule)
), told AS (
  -- With the computed roles: into_wh is what is left of the energy in, so it went out by the unknown role. If
  -- that role brings energy in, the sign is the opposite.
  SELECT *,
    -- A negative rest is energy that came into the scope and was not measured.
    CASE WHEN way = 'computed' AND computed = ['production'] THEN -into_wh ELSE production END::BIGINT AS production_wh,
    CASE WHEN way = 'computed' AND computed = ['consumption'] THEN into_wh ELSE consumption END::BIGINT AS consumption_wh,
    CASE
      WHEN way = 'computed' AND computed = ['grid_import'] THEN -into_wh
      WHEN way = 'netted' AND NOT is_shapeless AND into_wh IS NOT NULL THEN greatest(-into_wh, 0)
      ELSE grid_import
    END::BIGINT AS grid_import_wh,
    CASE
      WHEN way = 'computed' AND computed = ['grid_export'] THEN into_wh
      WHEN way = 'netted' AND NOT is_shapeless AND into_wh IS NOT NULL THEN greatest(into_wh, 0)
      ELSE grid_export
    END::BIGINT AS grid_export_wh,
    CASE WHEN way = 'computed' AND computed = ['battery_charge'] THEN into_wh ELSE battery_charge END::BIGINT AS battery_charge_wh,
    CASE WHEN way = 'computed' AND computed = ['battery_discharge'] THEN -into_wh ELSE battery_discharge END::BIGINT AS battery_discharge_wh
  FROM known
)
SELECT scope_id, own_day, day, at_ms,
  production_wh, consumption_wh, grid_import_wh, grid_export_wh, battery_charge_wh, battery_discharge_wh,
  CASE
    WHEN way IN ('netted', 'not_netted') THEN -into_wh
    WHEN is_grid_told THEN coalesce(grid_import_wh - grid_export_wh, grid_net)
    ELSE grid_import_wh - grid_export_wh
  END::BIGINT AS grid_net_wh,
  CASE WHEN way = 'measured' THEN into_wh WHEN way <> 'undetermined' AND into_wh IS NOT NULL THEN 0 END::BIGINT AS residual_wh,
  production_wh - grid_export_wh AS self_consumption_wh,
  consumption_wh - grid_import_wh AS self_supply_wh,
  CASE WHEN NOT is_shapeless AND battery_charge_wh IS NOT NULL AND consumption_wh IS NOT NULL AND grid_import_wh IS NOT NULL
    THEN least(battery_charge_wh, greatest(0, grid_import_wh - greatest(consumption_wh, 0))) END AS grid_to_battery_wh,
  CASE WHEN NOT is_shapeless AND battery_discharge_wh IS NOT NULL AND production_wh IS NOT NULL AND grid_export_wh IS NOT NULL
    THEN least(battery_discharge_wh, greatest(0, grid_export_wh - production_wh)) END AS battery_to_grid_wh,
  production_gap, consumption_gap, grid_import_gap, grid_export_gap, battery_charge_gap, battery_discharge_gap,
  computed, is_complete, is_netted, is_undetermined, is_estimated, is_shapeless, tolerance_wh, kwp, has_peak
FROM told;

-- name: find_rest
-- Computes the rest of a source, or of a computed role of a site, after subtracting the sources that it
-- contains. One row for each scope, interval and container.
-- Reads scope_source, slot, source_interval, interval_sum.
-- rest:
--   scope_id, day, at_ms
--   container   series of the source that contains others; `site`, or `site.<role>`, for the computed role of
--               a site
--   rest_wh     Wh; null if the container or a part of it is unknown
WITH part AS (
  -- The contained sources of each container, added. signed_part_wh: by the signs of the members.
  SELECT sso.scope_id, sl.day, sl.at_ms, sso.container, any_value(sso.role) AS role, any_value(sso.own_day) AS own_day,
    CASE WHEN bool_and(si.is_known) THEN sum(si.energy_wh) END AS part_wh,
    CASE WHEN bool_and(si.is_known) THEN sum(sso.sign * si.energy_wh) END AS signed_part_wh
  FROM scope_source sso
  JOIN source_interval si ON si.device = sso.device AND si.source = sso.source AND si.own_day = sso.own_day
  JOIN slot sl ON sl.at_ms = si.at_ms
  WHERE sso.container IS NOT NULL
  GROUP BY sso.scope_id, sl.day, sl.at_ms, sso.container
)
-- Containers that are sources.
SELECT p.scope_id, p.day, p.at_ms, p.container, (si.energy_wh - p.part_wh)::BIGINT AS rest_wh
FROM part p
JOIN scope_source sso ON sso.scope_id = p.scope_id AND sso.own_day = p.own_day AND sso.series = p.container
JOIN source_interval si ON si.device = sso.device AND si.source = sso.source AND si.own_day = sso.own_day AND si.at_ms = p.at_ms
UNION ALL
-- Computed roles of a site.
SELECT p.scope_id, p.day, p.at_ms, p.container,
  (CASE p.role
    WHEN 'production' THEN isu.production_wh
    WHEN 'consumption' THEN isu.consumption_wh
    WHEN 'grid_import' THEN isu.grid_import_wh
    WHEN 'grid_export' THEN isu.grid_export_wh
    WHEN 'battery_charge' THEN isu.battery_charge_wh
    WHEN 'battery_discharge' THEN isu.battery_discharge_wh
  END - p.signed_part_wh)::BIGINT
FROM part p
JOIN interval_sum isu ON isu.scope_id = p.scope_id AND isu.at_ms = p.at_ms
WHERE p.container = 'site' OR starts_with(p.container, 'site.');

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
SELECT isu.*, strftime(make_timestamp(isu.at_ms * 1000), '%Y-%m-%dT%H:%M:%SZ') AS period,
  1 AS intervals, is_complete::INTEGER AS known_intervals, NULL::BIGINT AS days, NULL::BIGINT AS complete_days,
  NULL::DOUBLE AS yield, false AS is_incomplete, false AS is_peak_unknown, r.rest
FROM interval_sum isu
LEFT JOIN (
  SELECT scope_id, at_ms, map_from_entries(list((container, rest_wh) ORDER BY container)) AS rest FROM rest GROUP BY scope_id, at_ms
) AS r ON r.scope_id = isu.scope_id AND r.at_ms = isu.at_ms;
