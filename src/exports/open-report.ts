import type { ExportReport } from '../config/export-settings.ts';
import { openBalance } from './export-balance.ts';
import { openDailyEnergy, openDeviceDailyEnergy, openIntervalEnergy } from './export-energy.ts';
import { openBudgetData, openMeterData } from './export-meters.ts';
import { openReconciliation, openVariance } from './export-sites.ts';
import type { OpenReport } from './exported-report.ts';

const reports: Readonly<Record<ExportReport, OpenReport>> = {
  daily_energy: openDailyEnergy,
  device_daily_energy: openDeviceDailyEnergy,
  interval_energy: openIntervalEnergy,
  meter_data: openMeterData,
  budget_data: openBudgetData,
  reconciliation: openReconciliation,
  variance: openVariance,
  balance: openBalance,
};

/**
 * Opens the report of an export in one generation.
 * @throws StreamError if no budget of its meters has the scenario
 */
export const openReport: OpenReport = (query, at) => reports[query.config.report](query, at);
