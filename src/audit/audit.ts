import type { FieldValue } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { type Clock, systemClock } from '../lib/time.ts';
import { openAuditSpool } from './spool.ts';

/** Something that happened to a workgroup and that whoever may read its audit log should know of. */
export interface AuditEntry {
  /** Who did it; default: whoever this process works for. Never a token. */
  actor?: string;
  /** What, as `<thing>.<past participle>`. */
  action: `${string}.${string}`;
  /** To what: a token's id, a path. */
  target?: string | undefined;
  /** More about it: short, and never a token, a key or another secret. */
  data?: Record<string, FieldValue | undefined>;
}

/** Takes note of what happens, for the table `audit_logs` of the workgroup's stream. */
export interface Audit {
  /**
   * Notes an entry durably. The stream service takes it into the log: at once where it runs, else once it does.
   * @throws where the data folder cannot be written
   */
  record(workgroupId: string, entry: AuditEntry): void;
  /** How many entries wait to be taken into the log. */
  waiting(workgroupId: string): number;
}

export interface AuditOptions {
  dataDir: string;
  /** Who acts in this process, as a person would say it. */
  actor: string;
  clock?: Clock;
}

export function createAudit({ dataDir, actor, clock = systemClock }: AuditOptions): Audit {
  const spools = new Map<string, ReturnType<typeof openAuditSpool>>();
  const spoolOf = (workgroupId: string) => {
    const spool = spools.get(workgroupId) ?? openAuditSpool(dataDir, workgroupId);
    spools.set(workgroupId, spool);
    return spool;
  };
  return {
    record(workgroupId, entry) {
      const data = Object.entries(entry.data ?? {}).filter(([, value]) => value !== undefined);
      spoolOf(workgroupId).add({
        actor: clip(entry.actor ?? actor),
        action: entry.action,
        ...(entry.target !== undefined && { target: clip(entry.target) }),
        event_time: clock.now(),
        ...(data.length > 0 && { data: Object.fromEntries(data.map(clipped)) }),
      });
    },
    waiting: (workgroupId) => spoolOf(workgroupId).waiting().length,
  };
}

/** The rest of a text that is too long says nothing that one could still read. */
function clip(text: string): string {
  return text.length <= limits.textCharactersMax ? text : `${text.slice(0, limits.textCharactersMax - 1)}…`;
}

function clipped([name, value]: [string, FieldValue | undefined]): [string, FieldValue] {
  return [name.slice(0, limits.nameCharactersMax), typeof value === 'string' ? clip(value) : (value ?? null)];
}
