-- What is known of each role of a scope on each local day: measured (a source has it), absent (there is none, which is 0) or unknown.
-- One unknown role is computed. Import and export that are both unknown count as one: what is left of the balance is one or the other.
--
-- Reads  scope (scope_id, nets: whether import and export may be told from what is left); scope_absent (scope_id, role); scope_source; own_day
-- Writes "scope_day", one row for each scope and local day:
--   production_state, consumption_state, grid_import_state, grid_export_state, battery_charge_state, battery_discharge_state
--   way         measured, computed, netted, not_netted (only the difference of import and export is known) or undetermined (too many are unknown)
--   computed    roles that are computed, sorted
WITH declared AS (
  SELECT scope_id, own_day,
    bool_or('production' IN (role, negative_role)) FILTER (counts) AS production_measured,
    bool_or('consumption' IN (role, negative_role)) FILTER (counts) AS consumption_measured,
    bool_or('grid_import' IN (role, negative_role)) FILTER (counts) AS import_measured,
    bool_or('grid_export' IN (role, negative_role)) FILTER (counts) AS export_measured,
    bool_or('battery_charge' IN (role, negative_role)) FILTER (counts) AS charge_measured,
    bool_or('battery_discharge' IN (role, negative_role)) FILTER (counts) AS discharge_measured,
    -- also of sources that are contained in what is computed
    bool_or('production' IN (role, negative_role)) AS has_production,
    bool_or('grid_export' IN (role, negative_role)) AS has_export,
    bool_or(role IN ('battery_charge', 'battery_discharge') OR negative_role IN ('battery_charge', 'battery_discharge')) AS has_battery
  FROM scope_source
  GROUP BY scope_id, own_day
),
absent AS (
  SELECT scope_id, list(role) AS roles FROM scope_absent GROUP BY scope_id
),
state AS (
  SELECT s.scope_id, s.nets, o.day AS own_day,
    CASE WHEN production_measured THEN 'measured' WHEN list_contains(a.roles, 'production') THEN 'absent'
      WHEN has_production OR has_export THEN 'unknown' ELSE 'absent' END AS production_state,
    CASE WHEN consumption_measured THEN 'measured' WHEN list_contains(a.roles, 'consumption') THEN 'absent'
      ELSE 'unknown' END AS consumption_state,
    CASE WHEN import_measured THEN 'measured' WHEN list_contains(a.roles, 'grid_import') THEN 'absent'
      ELSE 'unknown' END AS grid_import_state,
    CASE WHEN export_measured THEN 'measured' WHEN list_contains(a.roles, 'grid_export') THEN 'absent'
      WHEN has_export OR has_production OR has_battery THEN 'unknown' ELSE 'absent' END AS grid_export_state,
    CASE WHEN charge_measured THEN 'measured' WHEN list_contains(a.roles, 'battery_charge') THEN 'absent'
      WHEN has_battery THEN 'unknown' ELSE 'absent' END AS battery_charge_state,
    CASE WHEN discharge_measured THEN 'measured' WHEN list_contains(a.roles, 'battery_discharge') THEN 'absent'
      WHEN has_battery THEN 'unknown' ELSE 'absent' END AS battery_discharge_state
  FROM scope s
  CROSS JOIN own_day o
  LEFT JOIN declared d ON d.scope_id = s.scope_id AND d.own_day = o.day
  LEFT JOIN absent a ON a.scope_id = s.scope_id
),
open AS (
  SELECT *,
    list_filter([
      CASE battery_charge_state WHEN 'unknown' THEN 'battery_charge' END,
      CASE battery_discharge_state WHEN 'unknown' THEN 'battery_discharge' END,
      CASE consumption_state WHEN 'unknown' THEN 'consumption' END,
      CASE grid_export_state WHEN 'unknown' THEN 'grid_export' END,
      CASE grid_import_state WHEN 'unknown' THEN 'grid_import' END,
      CASE production_state WHEN 'unknown' THEN 'production' END
    ], lambda role: role IS NOT NULL) AS unknown
  FROM state
)
SELECT scope_id, own_day,
  production_state, consumption_state, grid_import_state, grid_export_state, battery_charge_state, battery_discharge_state,
  CASE
    WHEN len(unknown) = 0 THEN 'measured'
    WHEN len(unknown) = 1 THEN 'computed'
    WHEN unknown = ['grid_export', 'grid_import'] THEN CASE WHEN nets THEN 'netted' ELSE 'not_netted' END
    ELSE 'undetermined'
  END AS way,
  CASE WHEN way IN ('computed', 'netted') THEN unknown ELSE [] END AS computed
FROM open
