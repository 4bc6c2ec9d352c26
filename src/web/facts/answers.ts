import type { z } from 'zod';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { backfillPlanSchema, backfillsSchema, gapsSchema } from '../../operate/backfill-schemas.ts';
import type { exportListSchema } from '../../operate/export-schemas.ts';
import type { importsSchema } from '../../operate/import-schema.ts';
import type { auditListSchema, deviceListSchema, tokenListSchema } from '../../operate/listing-schemas.ts';
import type { quarantineSchema } from '../../operate/quarantine-schema.ts';
import type { StatusAnswer } from '../../operate/status-schema.ts';
import type { balanceAnswerSchema } from '../../report/balance-answers.ts';
import type { dayChangesSchema } from '../../report/day-changes.ts';
import type { reconciliationSchema } from '../../report/reconciliation.ts';
import type {
  dailyEnergyDetailsSchema,
  dailyEnergySchema,
  deviceStatusSchema,
  intervalEnergySchema,
} from '../../report/report-schemas.ts';
import type { varianceSchema } from '../../report/variance.ts';
import type { workgroupAnswerSchema } from '../../report/workgroup-route.ts';

export type { Explained, ExplainedSource } from '../../explain/explained-schema.ts';

/** The answers of the service, with the types of its schemas. */

export type WorkgroupAnswer = z.output<typeof workgroupAnswerSchema>;
export type DailyEnergy = z.output<typeof dailyEnergySchema>;
export type DayDetails = z.output<typeof dailyEnergyDetailsSchema>;
/** One value of `DayDetails`. */
export type DayOfSeries = DayDetails[string][string];
export type Profiles = z.output<typeof intervalEnergySchema>;
export type Balances = z.output<typeof balanceAnswerSchema>;
export type Balance = Balances[string];
export type DeviceStatuses = z.output<typeof deviceStatusSchema>;
export type DayChanges = z.output<typeof dayChangesSchema>;
export type DayChange = DayChanges['changes'][number];
export type Variance = z.output<typeof varianceSchema>;
export type Reconciliation = z.output<typeof reconciliationSchema>;
export type DeviceList = z.output<typeof deviceListSchema>;
export type Tokens = z.output<typeof tokenListSchema>;
export type AuditEntries = z.output<typeof auditListSchema>;
export type Gaps = z.output<typeof gapsSchema>;
export type Backfills = z.output<typeof backfillsSchema>;
export type BackfillPlan = z.output<typeof backfillPlanSchema>;
export type Imports = z.output<typeof importsSchema>;
export type Quarantine = z.output<typeof quarantineSchema>;
export type ExportList = z.output<typeof exportListSchema>;
export type PipelineStatus = StatusAnswer;
export interface CorrectionAnswer {
  outcome: 'stored' | 'stored-before' | 'checked';
  correction: ListedCorrection;
}
