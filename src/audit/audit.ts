import type { FieldValue } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { shortenText } from '../lib/clip-text.ts';
import { type Clock, systemClock } from '../lib/time.ts';
import { openAuditSpool } from './spool.ts';

/** An event in a workgroup, for readers of its audit log. */
export interface AuditEntry {
  /** Who caused the event; default: the actor of this process. Never a token. */
  actor?: string;
  /** What happened, as `<thing>.<past participle>`. */
  action: `${string}.${string}`;
  /** The object of the event, for example the id of a token or a path. */
  target?: string | undefined;
  /** Short details. Never a token, a key or another secret. */
  data?: Record<string, FieldValue | undefined>;
}

/** Records events for the table `audit_logs` of a workgroup's stream. */
export interface Audit {
  /**
   * Records an entry durably. The stream service moves it into the log, at once or when it runs again.
   * @throws if the data folder cannot be written
   */
  record(workgroupId: string, entry: AuditEntry): void;
  /** The number of entries that are not in the log yet. */
  waiting(workgroupId: string): number;
}

interface AuditOptions {
  dataDir: string;
  /** The actor of this process, in words. */
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
        actor: shortenText(entry.actor ?? actor, limits.textCharactersMax),
        action: entry.action,
        ...(entry.target !== undefined && { target: shortenText(entry.target, limits.textCharactersMax) }),
        event_time: clock.now(),
        ...(data.length > 0 && { data: Object.fromEntries(data.map(shortened)) }),
      });
    },
    waiting: (workgroupId) => spoolOf(workgroupId).waiting().length,
  };
}

function shortened([name, value = null]: [string, FieldValue | undefined]): [string, FieldValue] {
  return [
    name.slice(0, limits.nameCharactersMax),
    typeof value === 'string' ? shortenText(value, limits.textCharactersMax) : value,
  ];
}
