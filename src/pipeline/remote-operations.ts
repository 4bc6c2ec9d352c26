import { z } from 'zod';
import { alertRequestSchema } from '../alerts/change-by-hand.ts';
import { ALERTS_LISTED_MAX } from '../alerts/list-alerts.ts';
import { backfillRequestSchema } from '../backfill/backfill-request.ts';
import { deviceIdSchema, nameSchema, tableNameSchema } from '../contract/messages.ts';
import { correctionQuerySchema, correctionRequestSchema } from '../correction/correction-request.ts';
import { mappingSchema } from '../import/import-mapping.ts';
import { isLocalDate } from '../lib/time.ts';
import type { OperationName, Operations } from './operations.ts';

/** The id of the request of HTTP, for the log. */
const requestId = z.string().max(64).optional();

/**
 * The operations that other processes may call (see `src/worker-rpc`), with the schemas of their arguments.
 */
export const askable = {
  status: z.undefined(),
  snapshot: z.undefined(),
  explain: z.strictObject({
    device: deviceIdSchema,
    day: z.string().refine(isLocalDate, 'is not a day'),
    source: nameSchema.optional(),
  }),
  retry: z.strictObject({ device: deviceIdSchema.optional() }),
  importStart: z.strictObject({
    path: z.string(),
    shownPath: z.string().optional(),
    table: tableNameSchema,
    mapping: mappingSchema,
  }),
  importState: z.undefined(),
  importStop: z.undefined(),
  importSummary: z.strictObject({ importIds: z.array(z.int()).max(100_000), table: tableNameSchema }),
  importsNewest: z.undefined(),
  importList: z.strictObject({ beforeId: z.int().optional(), limit: z.int().min(1).max(10_000) }),
  quarantineList: z.strictObject({
    devices: z.array(deviceIdSchema).max(100_000).optional(),
    samplesMax: z.int().min(0).max(1_000),
  }),
  upload: z.strictObject({
    path: z.string(),
    name: z.string().max(4_096),
    actor: z.string().max(1_024),
    again: z.boolean(),
    requestId,
  }),
  uploads: z.undefined(),
  correct: z.strictObject({
    request: correctionRequestSchema,
    author: z.string().min(1).max(1_024),
    dryRun: z.boolean(),
    requestId,
  }),
  corrections: correctionQuerySchema,
  backfillStart: z.strictObject({ request: backfillRequestSchema }),
  backfillState: z.undefined(),
  backfillStop: z.undefined(),
  backfillPlan: z.strictObject({ request: backfillRequestSchema }),
  backfillList: z.undefined(),
  backfillCancel: z.strictObject({ backfillId: z.int() }),
  backfillGaps: z.strictObject({}),
  alertList: z.strictObject({
    offset: z.int().min(0).optional(),
    limit: z.int().min(1).max(ALERTS_LISTED_MAX).optional(),
  }),
  alertChange: alertRequestSchema,
} satisfies { readonly [Name in OperationName]?: z.ZodType<Operations[Name]['args']> };
export type AskableName = keyof typeof askable;

export function isAskable(name: string): name is AskableName {
  return Object.hasOwn(askable, name);
}
