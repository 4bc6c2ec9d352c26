import type { ExportReport } from '../export-settings.ts';
import { openBalance } from './balance-report.ts';
import { openDailyEnergy, openDeviceDailyEnergy, openIntervalEnergy } from './energy-reports.ts';
import { openBudgetData, openMeterData } from './meter-reports.ts';
import type { OpenReport } from './report.ts';
import { openReconciliation, openVariance } from './site-reports.ts';

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

/** Opens what an export is of, in one generation. @throws StreamError where no budget of its meters has the scenario that is asked for */
export const openReport: OpenReport = (query, at) => reports[query.config.report](query, at);
