-- 70 Judge: rates, and whether the residual exceeds the tolerance.
--
-- Reads   "level", "rule".
-- Writes  "balance".
-- Why     Each level is tested by itself, because noise in a quarter of an hour can be an error in a year,
--         and the other way round.

-- name: judge
-- Computes the rates of an interval, a day, a month or a year from its sums, and tests whether its residual
-- exceeds the tolerance. One row for each scope and period.
-- Reads level: scope_id, period, intervals, known_intervals, days, complete_days, the fields of interval_sum,
-- yield (kWh/kWp), has_peak, is_incomplete, is_peak_unknown, rest; rule.
-- balance:
--   columns of level
--   coverage                  share of the intervals (0 to 1) on which every measured role is known
--   self_consumption_rate     self-consumption / production, 0 to 1; null without production
--   autarky                   self-supply / consumption, 0 to 1; null without consumption
--   self_consumption_max_wh   upper bound, if the shape is unknown
--   autarky_max               upper bound, 0 to 1, if the shape is unknown
--   specific_yield            kWh/kWp
--   missing                   measured roles that are not known, sorted
--   flags                     sorted
WITH weighed AS (
  -- The level, with what its tests need. limit_wh: the tolerance, or tolerance_percent of the energy that
  -- goes in or out if that is more. is_bounded: the shape is unknown, but the sums bound self-consumption.
  SELECT * REPLACE (coalesce(computed, []) AS computed),
    greatest(
      tolerance,
      (SELECT tolerance_percent FROM rule) / 100 * greatest(
        coalesce(production_wh, 0) + coalesce(grid_import_wh, 0) + coalesce(battery_discharge_wh, 0),
        coalesce(consumption_wh, 0) + coalesce(grid_export_wh, 0) + coalesce(battery_charge_wh, 0)
      )
    ) AS limit_wh,
    -- The computed role that is the furthest below 0. Import and export that are netted are never below 0.
    MAP {
      'production': production_wh, 'consumption': consumption_wh,
      'grid_import': grid_import_wh, 'grid_export': grid_export_wh,
      'battery_charge': battery_charge_wh, 'battery_discharge': battery_discharge_wh
    } AS wh_of_role,
    list_min(list_transform(computed, lambda role: wh_of_role[role])) AS least_computed_wh,
    is_shapeless AND self_consumption_wh IS NULL AND production_wh IS NOT NULL AND consumption_wh IS NOT NULL
      AND battery_charge_wh IS NOT NULL AND battery_discharge_wh IS NOT NULL AS is_bounded
  FROM level
)
SELECT * EXCLUDE (wh_of_role),
  round(known_intervals / intervals, 4) AS coverage,
  CASE
    WHEN production_wh > 0 AND self_consumption_wh IS NOT NULL
      THEN round(least(greatest(self_consumption_wh / production_wh, 0), 1), 4)
  END AS self_consumption_rate,
  CASE
    WHEN consumption_wh > 0 AND self_supply_wh IS NOT NULL
      THEN round(least(greatest(self_supply_wh / consumption_wh, 0), 1), 4)
  END AS autarky,
  CASE
    WHEN is_bounded
      THEN greatest(0, least(production_wh, consumption_wh + battery_charge_wh - battery_discharge_wh))
  END::BIGINT AS self_consumption_max_wh,
  CASE
    WHEN is_bounded AND consumption_wh > 0
      THEN round(greatest(0, least(consumption_wh, production_wh + battery_discharge_wh - battery_charge_wh))
        / consumption_wh, 4)
  END AS autarky_max,
  CASE WHEN has_peak THEN round(yield, 3) END AS specific_yield,
  list_filter([
    CASE WHEN battery_charge_gap THEN 'battery_charge' END,
    CASE WHEN battery_discharge_gap THEN 'battery_discharge' END,
    CASE WHEN consumption_gap THEN 'consumption' END,
    CASE WHEN grid_export_gap THEN 'grid_export' END,
    CASE WHEN grid_import_gap THEN 'grid_import' END,
    CASE WHEN production_gap THEN 'production' END
  ], lambda role: role IS NOT NULL) AS missing,
  list_filter([
    CASE WHEN is_estimated THEN 'estimated' END,
    CASE WHEN grid_to_battery_wh > limit_wh AND battery_to_grid_wh > limit_wh THEN 'grid_cycled' END,
    CASE
      WHEN abs(residual_wh) > limit_wh OR least_computed_wh < -limit_wh
        OR len(list_filter(map_values(rest), lambda wh: wh < -limit_wh)) > 0
        THEN 'imbalance'
    END,
    CASE WHEN is_incomplete THEN 'incomplete' END,
    CASE WHEN is_netted THEN 'netted' END,
    CASE WHEN least_computed_wh < 0 AND least_computed_wh >= -limit_wh THEN 'noise' END,
    CASE WHEN is_peak_unknown THEN 'peak_unknown' END,
    CASE WHEN is_shapeless THEN 'shape_unknown' END,
    CASE WHEN is_undetermined THEN 'undetermined' END
  ], lambda flag: flag IS NOT NULL) AS flags
FROM weighed;
