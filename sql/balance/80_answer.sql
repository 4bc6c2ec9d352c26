-- 80 Answer: a balance as JSON, with its parts if they are requested.
--
-- Reads   "balance", "scope_source", "source_interval", "interval_sum", "day_level", "period_digits", "role".
-- Writes  "day_part", "part_list", and one row for each period (period; value: JSON, as bytes).
-- Why     The database builds the JSON text, as in report/.

-- name: sum_day_part
-- Sums the energy of each source on each day of a time zone, also of contained sources. One row for each
-- scope, day, source and role of it. Reads scope_source, source_interval, interval_sum (the reported
-- intervals), role.
-- day_part:
--   scope_id, day, device, source, role
--   container   see scope_source
--   wh          by the sign of the member; null if unknown
WITH reported_source AS (
  -- One row for each reported interval and each source of its scope.
  SELECT scope_source.scope_id, interval_sum.day, scope_source.device, scope_source.source, scope_source.role,
    scope_source.negative_role, scope_source.container, scope_source.sign,
    source_interval.energy_wh, source_interval.is_known, source_interval.has_shape
  FROM interval_sum
  JOIN scope_source ON scope_source.scope_id = interval_sum.scope_id AND scope_source.own_day = interval_sum.own_day
  JOIN source_interval
    ON source_interval.device = scope_source.device AND source_interval.source = scope_source.source
    AND source_interval.own_day = scope_source.own_day AND source_interval.at_ms = interval_sum.at_ms
)
SELECT scope_id, day, device, source, role, container,
  CASE WHEN bool_and(is_known) THEN sum(sign * energy_wh) END::BIGINT AS wh
FROM reported_source WHERE negative_role IS NULL
GROUP BY ALL
UNION ALL BY NAME
-- The rise of net registers, for their role.
SELECT scope_id, day, device, source, role, container,
  CASE WHEN bool_and(is_known AND has_shape) THEN sum(sign * greatest(energy_wh, 0)) END::BIGINT AS wh
FROM reported_source WHERE negative_role IS NOT NULL
GROUP BY ALL
UNION ALL BY NAME
-- Their fall, for their negative role.
SELECT scope_id, day, device, source, negative_role AS role, container,
  CASE WHEN bool_and(is_known AND has_shape) THEN sum(sign * greatest(-energy_wh, 0)) END::BIGINT AS wh
FROM reported_source WHERE negative_role IN (SELECT role FROM role)
GROUP BY ALL;

-- name: list_parts
-- Lists the sources of a day, month or year; for months and years over their complete days. One row for each
-- scope and period.
-- Reads day_part, day_level, period_digits (see sum_periods).
-- part_list:
--   scope_id, period
--   parts   list of device, source, role, wh, within (the source that contains it)
SELECT scope_id, whole_period AS period,
  list({device: device::VARCHAR, source: source, role: role, wh: wh, within: container}
    ORDER BY device, source, role) AS parts
FROM (
  SELECT day_part.scope_id, left(day_level.period, (SELECT period_digits FROM period_digits)) AS whole_period,
    day_part.device, day_part.source, day_part.role, day_part.container,
    CASE WHEN count(day_part.wh) = count(*) THEN sum(day_part.wh) END::BIGINT AS wh
  FROM day_part
  JOIN day_level ON day_level.scope_id = day_part.scope_id AND day_level.day = day_part.day
  -- In an answer by day the period is the day itself.
  WHERE NOT day_level.is_incomplete OR whole_period = day_level.period
  GROUP BY ALL
)
GROUP BY scope_id, whole_period;

-- name: answer
-- Returns a balance as the JSON of the endpoint. One row for each period of the one scope.
-- Reads balance (see judge); part_list (see list_parts): empty if parts are not requested.
-- Columns:
--   period
--   value   JSON, as bytes
SELECT balance.period, encode(to_json({
  intervals: intervals,
  days: days,
  completeDays: complete_days,
  productionWh: production_wh,
  consumptionWh: consumption_wh,
  gridImportWh: grid_import_wh,
  gridExportWh: grid_export_wh,
  batteryChargeWh: battery_charge_wh,
  batteryDischargeWh: battery_discharge_wh,
  gridNetWh: grid_net_wh,
  residualWh: residual_wh,
  selfConsumptionWh: self_consumption_wh,
  selfSupplyWh: self_supply_wh,
  gridToBatteryWh: grid_to_battery_wh,
  batteryToGridWh: battery_to_grid_wh,
  selfConsumptionRate: self_consumption_rate,
  autarky: autarky,
  selfConsumptionMaxWh: self_consumption_max_wh,
  autarkyMax: autarky_max,
  specificYield: specific_yield,
  coverage: coverage,
  computed: computed,
  missing: missing,
  restWh: coalesce(rest, MAP {}),
  parts: coalesce(part_list.parts, []),
  flags: flags
})::VARCHAR) AS value
FROM balance
LEFT JOIN part_list ON part_list.scope_id = balance.scope_id AND part_list.period = balance.period
ORDER BY balance.period;
