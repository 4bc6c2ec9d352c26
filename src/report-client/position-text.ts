import type { Ask, Position } from '../client/position.ts';
import type { Gap } from '../client/read-outcome.ts';
import { parseOffset } from '../contract/offset.ts';
import { bigintAsText } from '../lib/json-text.ts';

const OFFSETS: ReadonlySet<string> = new Set(['offset', 'lastOffset', 'from', 'to']);
const ASKS: ReadonlySet<unknown> = new Set<Ask['kind']>(['oldest', 'offset', 'timestamp']);
const GAPS: ReadonlySet<unknown> = new Set<Gap['reason']>(['expired', 'rejected', 'recreated', 'lost_tail']);

/** A position as text, to store it in a file or a database. */
export function positionText(position: Position): string {
  return JSON.stringify(position, bigintAsText);
}

/**
 * Reads a text that `positionText` made.
 * @throws SyntaxError if it is not one
 */
export function parsePosition(text: string): Position {
  const position: unknown = JSON.parse(text, (name, value: unknown) =>
    OFFSETS.has(name) && typeof value === 'string' ? (parseOffset(value) ?? value) : value,
  );
  if (!isPosition(position)) throw new SyntaxError('this is not a position of a stream');
  return position;
}

/** Without a schema, because a program that imports the client shall not load zod. */
function isPosition(value: unknown): value is Position {
  if (!isObject(value)) return false;
  const { ask, epoch, lastOffset, lastStoreTimeMs, inclusive, gap, failures, restarts, stalls } = value;
  return (
    isAsk(ask) &&
    isOptional('string', epoch) &&
    isOptional('bigint', lastOffset) &&
    isOptional('number', lastStoreTimeMs) &&
    typeof inclusive === 'boolean' &&
    (gap === undefined || isGap(gap)) &&
    [failures, restarts, stalls].every((count) => Number.isSafeInteger(count))
  );
}

function isAsk(value: unknown): value is Ask {
  if (!isObject(value)) return false;
  const { kind, offset, timestampMs } = value;
  return (
    ASKS.has(kind) &&
    (kind !== 'offset' || typeof offset === 'bigint') &&
    (kind !== 'timestamp' || typeof timestampMs === 'number')
  );
}

function isGap(value: unknown): value is Gap {
  if (!isObject(value)) return false;
  const { reason, from, to, fromTimeMs, toTimeMs } = value;
  return (
    GAPS.has(reason) &&
    [from, to].every((offset) => isOptional('bigint', offset)) &&
    [fromTimeMs, toTimeMs].every((time) => isOptional('number', time))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isOptional(type: 'string' | 'number' | 'bigint', value: unknown): boolean {
  return value === undefined || typeof value === type;
}
