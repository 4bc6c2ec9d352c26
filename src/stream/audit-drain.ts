import type { AuditSpool, SpooledEntry } from '../audit/spool.ts';
import { encodeMessages } from '../contract/encode-messages.ts';
import { AUDIT_TABLE } from '../contract/messages.ts';
import { offsetOf } from '../contract/offset.ts';
import type { Logger } from '../lib/logger.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { chunksFrom, storedMessage } from './log/stored-messages.ts';
import type { StreamLog } from './log/stream-log.ts';

interface AuditDrainOptions {
  streamLog: StreamLog;
  spool: AuditSpool;
  logger: Logger;
}

const ENTRIES_MAX = 1_000;
/** If the clock was set back since an entry got its time, it was by at most this much. */
const CLOCK_MS = MINUTE_MS;

interface Waiting {
  name: string;
  entry: SpooledEntry;
}

/**
 * Creates a drain that moves each audit entry from the spool into the log exactly once. After an interrupted
 * move, the drain looks for the id of the entry in the log before it appends again. One process calls it
 * about every second.
 * @returns a function that moves the waiting entries. If it fails, it rejects and the entries stay in the
 *   spool
 */
export function createAuditDrain({ streamLog, spool, logger }: AuditDrainOptions): () => Promise<void> {
  /** True if waiting entries may already be in the log. */
  let isUnsure = true;
  return async () => {
    for (;;) {
      const waiting = read(spool, logger);
      if (waiting.length === 0) break;
      const stored = isUnsure ? await storedEntries(streamLog, waiting) : new Set();
      const missing = waiting.filter(({ entry }) => !stored.has(entry.entryId));
      isUnsure = true;
      if (missing.length > 0) await streamLog.append(encodeMessages(missing.map(itemOf), AUDIT_TABLE));
      for (const { name } of waiting) spool.remove(name);
      isUnsure = false;
    }
    isUnsure = false;
  };
}

function read(spool: AuditSpool, logger: Logger): Waiting[] {
  return spool
    .waiting()
    .slice(0, ENTRIES_MAX)
    .flatMap((name) => {
      const entry = spool.read(name);
      if (entry !== undefined) return [{ name, entry }];
      logger.warn({ name }, 'audit.unreadable');
      spool.markUnreadable(name);
      return [];
    });
}

function itemOf({ entry: { entryId, data, ...item } }: Waiting) {
  return { ...item, data: { ...data, entry: entryId } };
}

/** The ids of the entries in the log, back to the time of the oldest waiting entry. */
async function storedEntries(streamLog: StreamLog, waiting: readonly Waiting[]): Promise<Set<unknown>> {
  const oldestMs = Math.min(...waiting.map(({ entry }) => entry.event_time));
  const ids = new Set<unknown>();
  for await (const chunk of chunksFrom(streamLog, offsetOf(Math.max(0, oldestMs - CLOCK_MS)))) {
    const auditTable = chunk.tables.indexOf(AUDIT_TABLE);
    if (auditTable < 0) continue;
    for (let index = 0; index < chunk.count; index++) {
      if (chunk.tableIds[index] !== auditTable) continue;
      const { data } = storedMessage(chunk, index) as { data?: { entry?: unknown } };
      ids.add(data?.entry);
    }
  }
  return ids;
}
