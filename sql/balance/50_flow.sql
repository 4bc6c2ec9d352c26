-- What sources measured of each role, by scope and interval. A register that may fall counts as its role where it rose and as its negative
-- role where it fell; where its shape is not known the two cannot be told apart, and their difference can.
--
-- Reads  scope_source, slot, source_interval, role
-- Writes "flow", one row for each scope and interval that has a source:
--   scope_id, own_day, day, at_ms
--   <role>_wh     Wh by the signs of the members; null where no source has the role or one is not known
--   <role>_gap    whether a source of the role is not known
--   into_wh       all roles by their sides: what comes in minus what goes out, Wh; null where a source is not known
--   grid_net_wh   the same of import and export alone
--   has_gap, has_shape, is_signed (a register that may fall is among them), is_estimated
--   step_wh       steps of the registers, added
WITH part AS (
  SELECT c.scope_id, c.own_day, s.day, s.at_ms, c.role, c.negative_role, c.sign, i.energy_wh, i.is_known, i.has_shape, i.is_estimated, i.step_wh,
    c.negative_role IS NOT NULL AS is_signed,
    c.sign * CASE WHEN is_signed THEN greatest(i.energy_wh, 0) ELSE i.energy_wh END AS rise_wh,
    c.sign * greatest(-i.energy_wh, 0) AS fall_wh,
    NOT i.is_known OR (is_signed AND NOT i.has_shape) AS is_open,
    -- as one amount, where both roles are part of the balance
    coalesce(c.negative_role <> 'other', true) AS is_whole
  FROM scope_source c
  JOIN source_interval i ON i.device = c.device AND i.source = c.source AND i.own_day = c.own_day
  JOIN slot s ON s.at_ms = i.at_ms
  WHERE c.counts
),
sided AS (
  SELECT p.*,
    r.side * CASE WHEN is_whole THEN p.sign * p.energy_wh ELSE p.rise_wh END AS into_part_wh,
    CASE WHEN is_whole THEN NOT p.is_known ELSE p.is_open END AS is_into_open,
    coalesce(p.role IN ('grid_import', 'grid_export') AND p.negative_role IN ('grid_import', 'grid_export'), false) AS is_both,
    p.role IN ('grid_import', 'grid_export') OR coalesce(p.negative_role IN ('grid_import', 'grid_export'), false) AS is_grid,
    CASE
      WHEN is_both THEN r.side * p.sign * p.energy_wh
      WHEN p.role IN ('grid_import', 'grid_export') THEN r.side * p.rise_wh
      WHEN is_grid THEN n.side * p.fall_wh
    END AS grid_part_wh,
    CASE WHEN is_both THEN NOT p.is_known ELSE p.is_open END AS is_grid_open
  FROM part p
  JOIN role r ON r.role = p.role
  LEFT JOIN role n ON n.role = p.negative_role
),
summed AS (
  SELECT scope_id, own_day, day, at_ms,
    sum(CASE 'production' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS production_sum,
    sum(CASE 'consumption' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS consumption_sum,
    sum(CASE 'grid_import' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS grid_import_sum,
    sum(CASE 'grid_export' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS grid_export_sum,
    sum(CASE 'battery_charge' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS battery_charge_sum,
    sum(CASE 'battery_discharge' WHEN role THEN rise_wh WHEN negative_role THEN fall_wh END) AS battery_discharge_sum,
    bool_or(is_open) FILTER ('production' IN (role, negative_role)) AS production_open,
    bool_or(is_open) FILTER ('consumption' IN (role, negative_role)) AS consumption_open,
    bool_or(is_open) FILTER ('grid_import' IN (role, negative_role)) AS grid_import_open,
    bool_or(is_open) FILTER ('grid_export' IN (role, negative_role)) AS grid_export_open,
    bool_or(is_open) FILTER ('battery_charge' IN (role, negative_role)) AS battery_charge_open,
    bool_or(is_open) FILTER ('battery_discharge' IN (role, negative_role)) AS battery_discharge_open,
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
  GROUP BY scope_id, own_day, day, at_ms
)
SELECT scope_id, own_day, day, at_ms,
  CASE WHEN NOT production_open THEN production_sum END AS production_wh,
  CASE WHEN NOT consumption_open THEN consumption_sum END AS consumption_wh,
  CASE WHEN NOT grid_import_open THEN grid_import_sum END AS grid_import_wh,
  CASE WHEN NOT grid_export_open THEN grid_export_sum END AS grid_export_wh,
  CASE WHEN NOT battery_charge_open THEN battery_charge_sum END AS battery_charge_wh,
  CASE WHEN NOT battery_discharge_open THEN battery_discharge_sum END AS battery_discharge_wh,
  production_gap, consumption_gap, grid_import_gap, grid_export_gap, battery_charge_gap, battery_discharge_gap,
  into_wh, grid_net_wh, has_gap, has_shape, is_signed, is_estimated, step_wh
FROM summed
