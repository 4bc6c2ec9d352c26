-- A balance as JSON, as the endpoint answers it.
--
-- Reads  balance (see 70_judge); part (see 81_part): none where parts are not asked for
-- Writes one row for each period of the one scope: period, value (JSON, as bytes)
SELECT b.period, encode(to_json({
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
  parts: coalesce(p.parts, []),
  flags: flags
})::VARCHAR) AS value
FROM balance b
LEFT JOIN part p ON p.scope_id = b.scope_id AND p.period = b.period
ORDER BY b.period
