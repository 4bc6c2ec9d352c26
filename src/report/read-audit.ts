import { limits } from '../contract/wire-limits.ts';
import { isObject } from '../lib/is-object.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';

/** An entry of the audit log, as it was published. */
interface PublishedAuditEntry {
  atMs: UtcMs;
  actor: string | null;
  action: string | null;
  target: string | null;
  data: Record<string, unknown> | null;
  position: AuditPosition;
}

/** The place of an entry in the log. */
export interface AuditPosition {
  storeMs: UtcMs;
  offset: string;
}

/** A position before the newest entry, because entries are listed from the newest to the oldest. */
const END: AuditPosition = { storeMs: limits.instantMsMax + 1, offset: '0' };
/** Newer files are read first. Usually the first ones have enough entries. */
const FILES_AT_ONCE = 24;

/** Published entries of the audit log, newest first by their store time. */
export async function readAuditEntries(
  lake: LakeReader,
  generation: Generation | undefined,
  { before = END, limit }: { before?: AuditPosition | undefined; limit: number },
): Promise<PublishedAuditEntry[]> {
  const files = auditFiles(generation);
  const entries: PublishedAuditEntry[] = [];
  for (let from = 0; generation && from < files.length && entries.length < limit; ) {
    // Files of one period are read together, because their entries are not in order.
    let to = Math.min(files.length, from + FILES_AT_ONCE);
    while (to < files.length && files[to]!.period === files[to - 1]!.period) to += 1;
    const some = files.slice(from, to);
    const rows = await lake.run({ generation, files: some }, (connection) =>
      query<AuditRow>(connection, 'report/list_audit_entries', {
        files: some.map(generation.path),
        before_ms: BigInt(before.storeMs),
        before_offset: BigInt(before.offset),
        rows_max: BigInt(limit - entries.length),
      }),
    );
    entries.push(...rows.map(entryOf));
    from = to;
  }
  return entries;
}

/**
 * The files with the audit log, the newest period first. A file of a whole month or day is older than the
 * files of the hours that follow it.
 */
function auditFiles(generation: Generation | undefined) {
  return (generation?.files('messages') ?? [])
    .filter(({ folder }) => folder.startsWith('table=audit_logs/'))
    .sort((a, b) => (a.period < b.period ? 1 : a.period > b.period ? -1 : 0));
}

type AuditRow = { event_ms: number; store_ms: number; stream_offset: string; other: string | null };

function entryOf({ event_ms, store_ms, stream_offset, other }: AuditRow): PublishedAuditEntry {
  const members = (other === null ? {} : JSON.parse(other)) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const { data } = members;
  return {
    atMs: event_ms,
    actor: text(members.actor),
    action: text(members.action),
    target: text(members.target),
    data: isObject(data) ? data : null,
    position: { storeMs: store_ms, offset: stream_offset },
  };
}
