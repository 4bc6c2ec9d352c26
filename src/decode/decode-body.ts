import { MalformedError } from '../cbor/malformed-error.ts';
import { limits } from '../contract/wire-limits.ts';
import { jsonDepth, parseJsonExact } from '../lib/json-text.ts';
import { appendMessage } from './append-message.ts';
import { clearColumns, createColumns } from './columns-buffer.ts';
import type { MessageColumns, NameTable } from './message-columns.ts';
import { isMap, readOffset } from './parse-values.ts';

/** Messages that a client accepts in one answer. Other servers may send more than the requested number. */
export const MESSAGES_PER_BODY_MAX = 100_000;

/** The members of an answer in addition to its messages; undefined if they are missing in the answer. */
export interface BodyFacts {
  nextOffset: bigint | undefined;
  earliestOffset: bigint | undefined;
  upToDate: boolean | undefined;
  epoch: string | undefined;
  clamped: string | undefined;
  requestId: string | undefined;
}

/** A decoded answer: messages as columns, or an error under any HTTP status. */
export type DecodedBody =
  | (BodyFacts & { kind: 'batch'; columns: MessageColumns })
  | (BodyFacts & { kind: 'error'; error: string; message: string; members: Record<string, unknown> });

interface ColumnsOptions {
  /** The table of messages that name no table. */
  defaultTable?: string | undefined;
  /** Buffers to use again. */
  columns?: MessageColumns;
}

/** The members that servers use for their messages. The first one that is a list counts. */
export const messageLists: readonly string[] = ['messages', 'records', 'data', 'results', 'rows', 'items'];
/**
 * The members that servers use for the next position. The first one counts. `offset` counts only in a map
 * that is not a message itself.
 */
const positions = ['nextOffset', 'next_offset', 'cursor', 'offset'];
/** The decoded members of an answer. The values of other members are skipped. */
export const readMembers: ReadonlySet<string> = new Set([
  ...positions,
  'earliestOffset',
  'earliest_offset',
  'upToDate',
  'up_to_date',
  'epoch',
  'clamped',
  'requestId',
  'error',
  'message',
  'status',
  'retryable',
  'parameter',
]);

/** The members of an answer's map. Only members in `readMembers` have a value. */
type BodyMembers = ReadonlyMap<string, unknown>;

/** Says if a map at the root is an answer, one message of a sequence, or something else. */
export function rootKind(members: BodyMembers, hasList: boolean): 'answer' | 'message' | 'unknown' {
  if (hasList || isError(members.get('error'))) return 'answer';
  if (positions.slice(0, -1).some((key) => members.has(key))) return 'answer';
  if (!members.has('offset')) return 'unknown';
  return ['data', 'device', 'device_id', 'deviceId', 'kind', 'state', 'actor'].some((key) => members.has(key))
    ? 'message'
    : 'answer';
}

/** Reads a decoded answer: one map or array at the root, or several in a sequence. */
export function bodyFromRoots(
  roots: readonly unknown[],
  names: NameTable,
  options: ColumnsOptions = {},
): DecodedBody {
  const columns = options.columns ?? createColumns();
  clearColumns(columns);
  const merged = new Map<string, unknown>();
  let read = 0;
  const append = (message: unknown) => {
    if (++read > MESSAGES_PER_BODY_MAX) throw tooManyMessages(0);
    appendMessage(columns, names, message, undefined, options.defaultTable);
  };
  for (const root of roots) {
    if (Array.isArray(root)) {
      for (const message of root) append(message);
      continue;
    }
    const members = new Map(isMap(root) ? Object.entries(root) : []);
    const list = messageLists.find((key) => Array.isArray(members.get(key)));
    const kind = rootKind(members, list !== undefined);
    if (kind === 'answer') {
      for (const message of (list ? members.get(list) : []) as unknown[]) append(message);
      for (const [key, value] of members) if (readMembers.has(key)) merged.set(key, value);
    } else if (kind === 'unknown' && roots.length === 1) throw notAnAnswer(0);
    else append(root);
  }
  return bodyOf(merged, columns);
}

/** Reads an answer in JSON or JSON lines. */
export function bodyFromJson(bytes: Uint8Array, names: NameTable, options: ColumnsOptions = {}): DecodedBody {
  return bodyFromRoots(parseRoots(new TextDecoder().decode(bytes)), names, options);
}

function parseRoots(text: string): unknown[] {
  if (jsonDepth(text) > limits.depthMax) {
    throw new MalformedError(`nested more than ${limits.depthMax} levels deep`, 0);
  }
  try {
    return [parseJsonExact(text)];
  } catch {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    try {
      if (lines.length > 1) return lines.map((line) => parseJsonExact(line));
    } catch {}
    throw new MalformedError('neither CBOR, JSON nor JSON lines', 0);
  }
}

/** Builds the answer from its members and messages. */
export function bodyOf(members: BodyMembers, columns: MessageColumns): DecodedBody {
  const facts: BodyFacts = {
    nextOffset: positionOf(members),
    earliestOffset: readOffset(members.get('earliestOffset') ?? members.get('earliest_offset')),
    upToDate: booleanOf(members.get('upToDate') ?? members.get('up_to_date')),
    epoch: textOf(members.get('epoch')),
    clamped: textOf(members.get('clamped')),
    requestId: textOf(members.get('requestId')),
  };
  const error = members.get('error');
  if (!isError(error)) return { kind: 'batch', columns, ...facts };
  const inner = isMap(error) ? error : {};
  const code =
    textOf(error) ?? textOf(inner.error) ?? textOf(inner.code) ?? textOf(inner.name) ?? textOf(inner.type);
  return {
    kind: 'error',
    error: code ?? 'Unknown',
    message: textOf(members.get('message')) ?? textOf(inner.message) ?? code ?? 'an error without a message',
    members: { ...Object.fromEntries(members), ...inner },
    ...facts,
  };
}

export function notAnAnswer(position: number): MalformedError {
  return new MalformedError('an answer without messages, position or error', position);
}

export function tooManyMessages(position: number): MalformedError {
  return new MalformedError(`more than ${MESSAGES_PER_BODY_MAX} messages in an answer`, position);
}

function isError(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || error === true || isMap(error);
}

function positionOf(members: BodyMembers): bigint | undefined {
  for (const key of positions) {
    const value = members.get(key);
    if (value === undefined || value === null) continue;
    const position = readOffset(value);
    if (position !== undefined) return position;
    // Other text may be a cursor of another kind, so the next member is tried.
    if (typeof value !== 'string')
      throw new MalformedError(`${key} is not an offset, or it has lost digits`, 0);
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
