import type { Balance } from '../../../src/web/facts/answers.ts';

/** A balance as the service answers it. Roles that are not named have no source, and so 0 Wh. */
export function makeBalance(changed: Partial<Balance>): Balance {
  return {
    intervals: 96,
    days: null,
    completeDays: null,
    productionWh: 0,
    consumptionWh: 0,
    gridImportWh: 0,
    gridExportWh: 0,
    batteryChargeWh: 0,
    batteryDischargeWh: 0,
    gridNetWh: 0,
    residualWh: 0,
    selfConsumptionWh: null,
    selfSupplyWh: null,
    gridToBatteryWh: 0,
    batteryToGridWh: 0,
    selfConsumptionRate: null,
    autarky: null,
    selfConsumptionMaxWh: null,
    autarkyMax: null,
    specificYield: null,
    coverage: 1,
    computed: [],
    missing: [],
    restWh: {},
    parts: [],
    flags: [],
    ...changed,
  };
}
