import { MEBIBYTE } from '../lib/units.ts';
import type { AskableName } from '../pipeline/remote-operations.ts';

/** The number of bytes of the arguments. The rest of the body is the file. */
export const ARGUMENTS_HEADER = 'wattline-arguments-bytes';

/** The error of a worker that does not have the workgroup open and cannot open it. Nothing was done. */
export const NOT_HERE = { code: 'NotHere', message: 'another worker has the workgroup' } as const;
/** Errors after which nothing was done, and another worker can be asked. */
export const NOTHING_DONE: ReadonlySet<string> = new Set([NOT_HERE.code, 'ShardNotOpen', 'StaleOwner']);

/**
 * What happens to the file that the argument `path` names. `sent`: the caller sends its bytes. `shared`: the
 * owner opens the path, so it must run on the same machine. An import needs this, because it reads a file of
 * any size for a long time, and continues after a restart.
 */
export const FILE_OPERATIONS: { readonly [Name in AskableName]?: 'sent' | 'shared' } = {
  upload: 'sent',
  importStart: 'shared',
};

/**
 * Says for each operation if it changes something. If a workgroup gets another owner during a call, an
 * operation that only reads is sent to the new owner. An operation that changes something is not sent again,
 * because the old owner may have done it.
 */
const EFFECTS: Readonly<Record<AskableName, 'reads' | 'changes'>> = {
  snapshot: 'changes',
  retry: 'changes',
  importStart: 'changes',
  importStop: 'changes',
  upload: 'changes',
  correct: 'changes',
  backfillStart: 'changes',
  backfillStop: 'changes',
  backfillCancel: 'changes',
  status: 'reads',
  explain: 'reads',
  importState: 'reads',
  importSummary: 'reads',
  importsNewest: 'reads',
  uploads: 'reads',
  corrections: 'reads',
  backfillState: 'reads',
  backfillPlan: 'reads',
  backfillList: 'reads',
  backfillGaps: 'reads',
  importList: 'reads',
  quarantineList: 'reads',
  alertList: 'reads',
  alertChange: 'changes',
};

export function isChanging(operation: AskableName): boolean {
  return EFFECTS[operation] === 'changes';
}

/** Larger than the staged form of the largest file that the command line accepts. */
export const SENT_FILE_BYTES_MAX = 512 * MEBIBYTE;
export const ARGUMENTS_BYTES_MAX = MEBIBYTE;
