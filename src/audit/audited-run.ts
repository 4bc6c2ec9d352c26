import type { FieldValue } from '../contract/messages.ts';
import { errorCode } from '../lib/errors.ts';
import type { Audit } from './audit.ts';

/** A task that somebody started and that the audit log should show. */
interface AuditedRun<Result> {
  /** The entries are named `<what>.started`, then `<what>.finished` or `<what>.failed`. */
  what: 'import' | 'export' | 'backfill';
  /** The object of the task, for example the path of a file. */
  target: string;
  data?: Record<string, FieldValue | undefined>;
  work: () => Promise<Result>;
  /** A few numbers of the result. */
  summary: (result: Result) => Record<string, FieldValue | undefined>;
}

/**
 * Runs a task and records an entry at its start and at its end. The task does not start if the entry cannot
 * be stored.
 * @returns the result of the task
 * @throws the error of the task; the audit entry contains only its code
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
    const code = errorCode(error) ?? 'Unexpected';
    audit.record(workgroupId, { action: `${what}.failed`, target, data: { error: code } });
    throw error;
  }
  audit.record(workgroupId, { action: `${what}.finished`, target, data: summary(result) });
  return result;
}
