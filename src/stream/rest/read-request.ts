import { AUDIT_TABLE, WILDCARD_TABLE } from '../../contract/messages.ts';
import { parseOffset } from '../../contract/offset.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { parseInstant, SECOND_MS } from '../../lib/time.ts';

/** Parsed query parameters. A repeated parameter is a list. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** The values that are used if a query has none. `limit` is also the maximum. */
export interface ReadDefaults {
  start: ReadStart;
  limit: number;
}
const restDefaults: ReadDefaults = { start: { kind: 'oldest' }, limit: limits.messagesPerReadMax };

/**
 * Reads the start and the limit of a read. If `offset` is present, `timestamp` is ignored. Unknown parameters
 * are ignored too.
 * @throws StreamError InvalidOffset, InvalidTimestamp or InvalidLimit, each with its parameter
 */
export function parseReadQuery(
  query: Query,
  defaults: ReadDefaults = restDefaults,
): { start: ReadStart; limit: number } {
  return { start: parseStart(query, defaults.start), limit: parseLimit(query.limit, defaults.limit) };
}

function parseStart({ offset, timestamp }: Query, otherwise: ReadStart): ReadStart {
  if (offset !== undefined) {
    const parsed = typeof offset === 'string' ? parseOffset(offset) : undefined;
    if (parsed === undefined)
      throw new StreamError('InvalidOffset', 'offset must be one decimal integer within 64 bits', {
        parameter: 'offset',
      });
    return { kind: 'offset', offset: parsed };
  }
  if (timestamp !== undefined) {
    const timestampMs = typeof timestamp === 'string' ? parseInstant(timestamp) : undefined;
    if (timestampMs === undefined)
      throw new StreamError(
        'InvalidTimestamp',
        'timestamp must be one ISO 8601 instant with its zone ("+" is sent as "%2B"), or integer milliseconds since 1970',
        { parameter: 'timestamp' },
      );
    return { kind: 'timestamp', timestampMs };
  }
  return otherwise;
}

function parseLimit(limit: string | string[] | undefined, limitMax: number): number {
  if (limit === undefined) return limitMax;
  const value = typeof limit === 'string' && /^\d+$/.test(limit) ? Number(limit) : 0;
  if (value < 1)
    throw new StreamError('InvalidLimit', `limit must be one integer from 1 to ${limitMax}`, {
      parameter: 'limit',
    });
  return Math.min(value, limitMax);
}

/** True if a read of this table returns audit messages. */
export function showsAudit(tableName: string): boolean {
  return tableName === WILDCARD_TABLE || tableName === AUDIT_TABLE;
}

/**
 * The milliseconds that the caller wants to be held at most (RFC 7240 `wait`, fractions allowed). Undefined
 * if there is no valid preference. An invalid preference is not an error.
 */
export function parseWaitPreference(prefer: string | string[] | undefined): number | undefined {
  const text = Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '');
  for (const preference of text.split(',')) {
    const match = /^\s*wait\s*=\s*"?(\d{1,9}(?:\.\d{1,9})?)"?\s*(?:;|$)/i.exec(preference);
    if (match) return Number(match[1]) * SECOND_MS;
  }
  return undefined;
}
