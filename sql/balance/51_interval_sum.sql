-- The balance of each interval: `production + import + discharge = consumption + export + charge + residual`, to the Wh. A measured role is
-- its sum, an absent one 0, and an unknown one is what the others leave; a measured role with a gap is null, never zero and never computed.
--
-- Reads  scope, scope_day, scope_peak, slot, flow, rule
-- Writes "interval_sum", one row for each scope and interval that is over; an interval of the last hour is left out until it is known:
--   scope_id, own_day, day, at_ms
--   production_wh, consumption_wh, grid_import_wh, grid_export_wh, battery_charge_wh, battery_discharge_wh
--                                           Wh; computed ones keep their sign
--   grid_net_wh                             import - export, Wh: known also where the two are not
--   residual_wh                             what measured roles leave, Wh; 0 where one is computed
--   self_consumption_wh, self_supply_wh     production - export, consumption - import, Wh
--   grid_to_battery_wh, battery_to_grid_wh  least amount that went this way, Wh; null where no shape tells it
--   <role>_gap, computed, is_complete, is_netted, is_undetermined, is_estimated, is_shapeless
--   tolerance_wh                            steps of the registers, at least the rule's, Wh
--   kwp, has_peak                           peak power of what produces, kWp; whether one is configured at all
WITH known AS (
  SELECT s.scope_id, d.own_day, t.day, t.at_ms, d.way, d.computed,
    CASE d.production_state WHEN 'measured' THEN f.production_wh WHEN 'absent' THEN 0 END AS production,
    CASE d.consumption_state WHEN 'measured' THEN f.consumption_wh WHEN 'absent' THEN 0 END AS consumption,
    CASE d.grid_import_state WHEN 'measured' THEN f.grid_import_wh WHEN 'absent' THEN 0 END AS grid_import,
    CASE d.grid_export_state WHEN 'measured' THEN f.grid_export_wh WHEN 'absent' THEN 0 END AS grid_export,
    CASE d.battery_charge_state WHEN 'measured' THEN f.battery_charge_wh WHEN 'absent' THEN 0 END AS battery_charge,
    CASE d.battery_discharge_state WHEN 'measured' THEN f.battery_discharge_wh WHEN 'absent' THEN 0 END AS battery_discharge,
    -- of sources that are there; a scope without any is balanced with nothing
    CASE WHEN f.scope_id IS NULL THEN 0 ELSE f.into_wh END AS into_wh,
    CASE WHEN f.scope_id IS NULL THEN 0 ELSE f.grid_net_wh END AS grid_net,
    coalesce(f.production_gap, false) AS production_gap, coalesce(f.consumption_gap, false) AS consumption_gap,
    coalesce(f.grid_import_gap, false) AS grid_import_gap, coalesce(f.grid_export_gap, false) AS grid_export_gap,
    coalesce(f.battery_charge_gap, false) AS battery_charge_gap, coalesce(f.battery_discharge_gap, false) AS battery_discharge_gap,
    NOT coalesce(f.has_gap, false) AS is_complete,
    NOT coalesce(f.has_shape, true) AS is_shapeless,
    coalesce(f.is_signed, false) OR d.way = 'netted' AS is_netted,
    d.way IN ('undetermined', 'not_netted') AS is_undetermined,
    d.grid_import_state <> 'unknown' AND d.grid_export_state <> 'unknown' AS is_grid_told,
    coalesce(f.is_estimated, false) AS is_estimated,
    greatest(coalesce(f.step_wh, 0), (SELECT tolerance_wh FROM rule)) AS tolerance_wh,
    p.kwp, p.scope_id IS NOT NULL AS has_peak
  FROM scope s
  JOIN scope_day d USING (scope_id)
  JOIN slot t ON t.own_day = d.own_day
  LEFT JOIN flow f ON f.scope_id = s.scope_id AND f.own_day = d.own_day AND f.at_ms = t.at_ms
  LEFT JOIN scope_peak p ON p.scope_id = s.scope_id AND p.own_day = d.own_day
  WHERE is_complete OR t.at_ms + (SELECT interval_ms + grace_ms FROM rule) <= (SELECT now_ms FROM rule)
),
told AS (
  SELECT *,
    -- What is left goes into the scope where it is negative: it came in and was not seen.
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
FROM told
