import { parseInstant } from '../time.ts';
import { type MessageKind, messageKinds } from './columns.ts';
import { limits } from './limits.ts';
import { AUDIT_TABLE, DEVICE_STATUS_TABLE, tableNamePattern } from './messages.ts';
import { OFFSET_MAX, parseOffset } from './offset.ts';

/** One message, however it was spelled. */
export interface PlainMessage {
  kind: 'message';
  offset: bigint;
  table: string;
  messageKind: MessageKind;
  /** UUID text; undefined for audit messages only. */
  device: string | undefined;
  source: string | undefined;
  eventTimeMs: number;
  storeTimeMs: number;
  messageId: number | undefined;
  /** The fields of telemetry. */
  data: Record<string, unknown>;
  /** Every other member: of device status and audit messages their own, of telemetry what the contract does not name. */
  members: Record<string, unknown>;
}

/** Something that is not a message of the contract: what is wrong with it, by member, never its values. */
export interface NotAMessage {
  kind: 'rejected';
  offset: bigint | undefined;
  reason: string;
  detail: string;
}

/** The spellings of each member, ours first; the first one that is present counts. */
const spellings = {
  offset: ['offset'],
  table: ['table', 'tableName', 'table_name'],
  kind: ['kind'],
  device: ['device', 'device_id', 'deviceId'],
  source: ['source'],
  event_time: ['event_time', 'eventTime', 'timestamp'],
  store_time: ['store_time', 'storeTime'],
  msg_id: ['msg_id', 'msgId'],
  data: ['data'],
} as const;
type Member = keyof typeof spellings;

/** The member of `other` that keeps what a telemetry message says beyond the contract. */
export const EXTRA_MEMBER = '$extra';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Reads a message as any server of this shape may write it: other spellings of the members, offset and times as
 * text, integer or bigint. Units are never guessed: a time is milliseconds or ISO 8601 with a zone.
 */
export function messageFrom(value: unknown, defaultTable?: string): PlainMessage | NotAMessage {
  if (!isMap(value)) {
    return {
      kind: 'rejected',
      offset: undefined,
      reason: 'not_a_map',
      detail: `a message is a map, not ${typeName(value)}`,
    };
  }
  const members = { ...value };
  const problems: Array<{ member: string; problem: string }> = [];
  const wrong = (member: string, problem: string) => {
    problems.push({ member, problem });
    return undefined;
  };

  const offset = readOffset(take(members, 'offset'));
  if (offset === undefined)
    wrong('offset', 'must be an integer from 0 to 2^64 - 1 that has kept all its digits');
  const table = take(members, 'table') ?? defaultTable;
  if (!isTableName(table))
    wrong('table', 'must be a table name of at most 128 letters, digits, "_", "." and "-"');
  const messageKind = kindOf(take(members, 'kind'), table, members);
  if (messageKind === undefined) wrong('kind', `must be one of ${messageKinds.join(', ')}`);

  const audit = messageKind === 'audit';
  const device = audit ? undefined : take(members, 'device');
  if (!audit && !isUuid(device)) wrong('device', 'must be a UUID');
  const source = audit ? undefined : take(members, 'source');
  if (!isAbsent(source) && source !== '' && !isName(source)) wrong('source', nameRule);
  const eventTimeMs = readInstant(take(members, 'event_time')) ?? wrong('event_time', instantRule);
  const storeTimeMs = readInstant(take(members, 'store_time')) ?? wrong('store_time', instantRule);
  const messageId = take(members, 'msg_id');
  // A counter of another kind is no reason to lose a reading: it is kept with what the contract does not name.
  if (!isAbsent(messageId) && !isCounter(messageId)) members.msg_id = messageId;

  let data: Record<string, unknown> = {};
  if (messageKind === 'telemetry') {
    const given = take(members, 'data');
    if (isMap(given)) data = given;
    else wrong('data', `must be a map of fields, not ${typeName(given)}`);
    const badName = Object.keys(data).find((name) => !isFieldName(name));
    if (badName !== undefined)
      wrong(
        'data',
        badName === EXTRA_MEMBER ? `a field may not be called ${EXTRA_MEMBER}` : `field names ${nameRule}`,
      );
  } else if (messageKind === 'device_status' && members.state !== 'online' && members.state !== 'offline') {
    wrong('state', 'must be online or offline');
  }

  const [first] = problems;
  if (
    first ||
    offset === undefined ||
    eventTimeMs === undefined ||
    storeTimeMs === undefined ||
    !messageKind
  ) {
    return {
      kind: 'rejected',
      offset,
      reason: `invalid_${first?.member ?? 'message'}`,
      detail: problems.map(({ member, problem }) => `${member} ${problem}`).join('; '),
    };
  }
  return {
    kind: 'message',
    offset,
    table: table as string,
    messageKind,
    device: device as string | undefined,
    source: isAbsent(source) || source === '' ? undefined : (source as string),
    eventTimeMs,
    storeTimeMs,
    messageId: isCounter(messageId) ? messageId : undefined,
    data,
    members,
  };
}

const nameRule = `must be text of 1 to ${limits.nameCharactersMax} characters`;
const instantRule = 'must be whole milliseconds since 1970 or ISO 8601 with a zone, up to the year 9999';

/** Takes a member out under the first of its spellings that is present. */
function take(members: Record<string, unknown>, member: Member): unknown {
  for (const key of spellings[member]) {
    if (!Object.hasOwn(members, key)) continue;
    const value = members[key];
    delete members[key];
    if (!isAbsent(value)) return value;
  }
  return undefined;
}

function kindOf(kind: unknown, table: unknown, members: Record<string, unknown>): MessageKind | undefined {
  if (!isAbsent(kind)) return messageKinds.find((known) => known === kind);
  if (table === AUDIT_TABLE) return 'audit';
  if (table === DEVICE_STATUS_TABLE || (typeof members.state === 'string' && !isMap(members.data))) {
    return 'device_status';
  }
  return 'telemetry';
}

/** An offset as an integer, a bigint or decimal digits; undefined for what has lost digits or is none. */
export function readOffset(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  if (typeof value === 'bigint') return value >= 0n && value <= OFFSET_MAX ? value : undefined;
  return typeof value === 'string' ? parseOffset(value) : undefined;
}

const plainInstant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;

function readInstant(value: unknown): number | undefined {
  let ms: number | undefined;
  if (typeof value === 'number') ms = value;
  else if (typeof value === 'bigint') ms = Number(value);
  else if (typeof value === 'string')
    ms = (plainInstant.test(value) ? exactDate(value) : undefined) ?? parseInstant(value);
  return ms !== undefined && Number.isSafeInteger(ms) && ms >= 0 && ms <= limits.instantMsMax
    ? ms
    : undefined;
}

/** The spelling nearly every machine uses, read quickly; undefined where the day does not exist. */
function exactDate(text: string): number | undefined {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 19)) ? ms : undefined;
}

export function isTableName(value: unknown): value is string {
  return typeof value === 'string' && tableNamePattern.test(value);
}

export function isName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length >= 1 &&
    value.length <= limits.nameCharactersMax &&
    value.isWellFormed()
  );
}

/** Whether a field of telemetry may be called so. */
export function isFieldName(name: string): boolean {
  return isName(name) && name !== EXTRA_MEMBER;
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value);
}

function isCounter(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function typeName(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'bytes';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}
