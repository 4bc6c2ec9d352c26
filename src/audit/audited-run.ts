import type { FieldValue } from '../contract/messages.ts';
import type { Audit } from './audit.ts';

/** A piece of work that somebody asked for and that is worth knowing of: an import, an export, a backfill. */
export interface AuditedRun<Result> {
  /** What it is, as entries are named after: `<what>.started`, then `<what>.finished` or `<what>.failed`. */
  what: 'import' | 'export' | 'backfill';
  /** What it works on, such as a file's path. */
  target: string;
  data?: Record<string, FieldValue | undefined>;
  work: () => Promise<Result>;
  /** What came of it, in a few numbers. */
  summary: (result: Result) => Record<string, FieldValue | undefined>;
}

/**
 * Does a piece of work, with an entry when it starts and one when it has ended. What cannot be noted is not begun.
 * @returns what the work returns
 * @throws what the work throws; of that, the entry has the code alone
 */
export async function auditRun<Result>(
  audit: Audit,
  workgroupId: string,
  { what, target, data, work, summary }: AuditedRun<Result>,
): Promise<Result> {
  audit.record(workgroupId, { action: `${what}.started`, target, ...(data && { data }) });
  let result: Result;
  try {
    result = await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'Unexpected';
    audit.record(workgroupId, { action: `${what}.failed`, target, data: { error: code } });
    throw error;
  }
  audit.record(workgroupId, { action: `${what}.finished`, target, data: summary(result) });
  return result;
}
