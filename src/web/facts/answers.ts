import type { z } from 'zod';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { alertListSchema } from '../../operate/alert-schemas.ts';
import type { backfillPlanSchema, backfillsSchema, gapsSchema } from '../../operate/backfill-schemas.ts';
import type { exportListSchema } from '../../operate/export-schemas.ts';
import type { importsSchema } from '../../operate/import-schema.ts';
import type {
  auditListSchema,
  deviceListSchema,
  meterListSchema,
  siteListSchema,
  tokenListSchema,
} from '../../operate/listing-schemas.ts';
import type { quarantineSchema, retrySchema } from '../../operate/quarantine-schema.ts';
import type { StatusAnswer } from '../../operate/status-schema.ts';
import type { balanceAnswerSchema } from '../../report/balance-answers.ts';
import type { dayChangesSchema } from '../../report/day-changes.ts';
import type { qualitySchema } from '../../report/quality-route.ts';
import type {
  dailyEnergyDetailsSchema,
  dailyEnergySchema,
  deviceStatusSchema,
  intervalEnergySchema,
} from '../../report/report-schemas.ts';
import type { workgroupAnswerSchema } from '../../report/workgroup-route.ts';

export type { Explained, ExplainedSource } from '../../explain/explained-schema.ts';
export type { DayChange } from '../../report/day-changes.ts';
export type { Reconciliation } from '../../report/reconciliation.ts';
export type { Variance } from '../../report/variance.ts';

// The answers of the service, with the types of its schemas.

export type WorkgroupAnswer = z.output<typeof workgroupAnswerSchema>;
export type DailyEnergy = z.output<typeof dailyEnergySchema>;
export type DayDetails = z.output<typeof dailyEnergyDetailsSchema>;
/** One value of `DayDetails`. */
export type DayOfSeries = DayDetails[string][string];
export type QualityAnswer = z.output<typeof qualitySchema>;
export type Profiles = z.output<typeof intervalEnergySchema>;
export type Balances = z.output<typeof balanceAnswerSchema>;
export type Balance = Balances[string];
export type DeviceStatuses = z.output<typeof deviceStatusSchema>;
export type DayChanges = z.output<typeof dayChangesSchema>;
export type DeviceList = z.output<typeof deviceListSchema>;
export type MeterList = z.output<typeof meterListSchema>;
export type SiteList = z.output<typeof siteListSchema>;
export type Tokens = z.output<typeof tokenListSchema>;
export type AuditEntries = z.output<typeof auditListSchema>;
export type Gaps = z.output<typeof gapsSchema>;
export type Backfills = z.output<typeof backfillsSchema>;
export type PlannedBackfill = z.output<typeof backfillPlanSchema>;
export type Imports = z.output<typeof importsSchema>;
export type QuarantineAnswer = z.output<typeof quarantineSchema>;
export type RetryAnswer = z.output<typeof retrySchema>;
export type AlertsAnswer = z.output<typeof alertListSchema>;
export type ExportList = z.output<typeof exportListSchema>;
export type PipelineStatus = StatusAnswer;
export interface CorrectionAnswer {
  outcome: 'stored' | 'stored-before' | 'checked';
  correction: ListedCorrection;
}
