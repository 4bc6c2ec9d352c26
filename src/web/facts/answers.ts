import type { z } from 'zod';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import type { balanceAnswerSchema } from '../../report/balance-answers.ts';
import type { dayChangesSchema } from '../../report/day-changes.ts';
import type {
  dailyEnergyDetailsSchema,
  dailyEnergySchema,
  deviceStatusSchema,
  intervalEnergySchema,
} from '../../report/report-schemas.ts';
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
export interface CorrectionAnswer {
  outcome: 'stored' | 'stored-before' | 'checked';
  correction: ListedCorrection;
}
