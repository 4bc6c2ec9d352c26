import type { WorkgroupConfig } from '../config/config.ts';
import { tableNameSchema } from '../contract/messages.ts';
import type { Problem } from '../lib/errors.ts';
import { dayStart, isLocalDate, parseInstant, type UtcMs } from '../lib/time.ts';
import type { BackfillRequest } from './backfill-request.ts';

/**
 * A backfill as a person asks for it. Times are days of the workgroup's zone, ISO times with a zone, or ms
 * since 1970, as text.
 */
interface BackfillWish {
  source: 'stream' | 'archive' | 'gaps';
  from?: string | undefined;
  to?: string | undefined;
  table?: string | undefined;
  messagesPerSecond: number;
}

/** The request, or everything that is wrong with it; the path of a problem is a member of the wish. */
export function makeBackfillRequest(
  wish: BackfillWish,
  { timezone, energyStreams }: Pick<WorkgroupConfig, 'timezone' | 'energyStreams'>,
): { request: BackfillRequest } | { problems: Problem[] } {
  const { source, messagesPerSecond } = wish;
  if (source === 'gaps') {
    const path = (['from', 'to', 'table'] as const).find((name) => wish[name] !== undefined);
    if (path !== undefined) return { problems: [{ path, message: 'cannot be combined with gaps' }] };
    return { request: { source, messagesPerSecond } };
  }
  const problems: Problem[] = [];
  const timeOf = (path: 'from' | 'to'): UtcMs | undefined => {
    const text = wish[path];
    if (text === undefined) return undefined;
    const ms = parseTime(text, timezone);
    const message = `"${text}" is not a time; write a day (2026-11-20), an ISO time with a zone (2026-11-20T08:00:00Z) or milliseconds`;
    if (ms === undefined) problems.push({ path, message });
    return ms;
  };
  const fromMs = timeOf('from');
  const toMs = timeOf('to');
  const table = wish.table === undefined ? undefined : tableNameSchema.safeParse(wish.table);
  if (table?.success === false) problems.push({ path: 'table', message: table.error.issues[0]!.message });
  const read = [...new Set(energyStreams.map((stream) => stream.table))];
  const isRead = wish.table === undefined ? read.length > 0 : read.includes(wish.table);
  if (source === 'archive' && !isRead) {
    const message = `no energy stream reads it; energy streams read ${read.join(', ') || 'none'}`;
    problems.push({ path: 'table', message });
  }
  if (wish.from === undefined)
    problems.push({ path: 'from', message: 'is missing: give the start of the period' });
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs)
    problems.push({ path: 'to', message: 'must be after from' });
  if (problems.length > 0) return { problems };
  return {
    request: {
      source,
      fromMs: fromMs!,
      ...(toMs !== undefined && { toMs }),
      ...(table && { table: table.data! }),
      messagesPerSecond,
    },
  };
}

function parseTime(text: string, timezone: string): UtcMs | undefined {
  if (isLocalDate(text)) return dayStart(text, timezone);
  const ms = parseInstant(text);
  return ms === undefined || ms < 0 ? undefined : ms;
}
