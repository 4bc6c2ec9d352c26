import { AUDIT_TABLE, DEVICE_STATUS_TABLE } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { type MessageKind, messageKinds } from './message-columns.ts';
import {
  EXTRA_MEMBER,
  isAbsent,
  isCounter,
  isFieldName,
  isMap,
  isName,
  isTableName,
  isUuid,
  readInstant,
  readOffset,
  typeName,
} from './parse-values.ts';

export { EXTRA_MEMBER, readOffset } from './parse-values.ts';

/** One message after its spelling was normalized. */
export interface PlainMessage {
  kind: 'message';
  offset: bigint;
  table: string;
  messageKind: MessageKind;
  /** UUID text; undefined only for audit messages. */
  device: string | undefined;
  source: string | undefined;
  eventTimeMs: number;
  storeTimeMs: number;
  messageId: number | undefined;
  /** The fields of telemetry; empty for other kinds. */
  data: Record<string, unknown>;
  /** All other members. For telemetry these are members that the contract does not name. */
  members: Record<string, unknown>;
}

/**
 * A value that is not a message of the contract. `detail` names the wrong members, but never their values.
 */
interface NotAMessage {
  kind: 'rejected';
  offset: bigint | undefined;
  reason: string;
  detail: string;
}

/** The names of each member in several dialects, ours first. The first member that is present counts. */
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

const rules = {
  offset: 'must be an integer from 0 to 2^64 - 1 without lost digits',
  table: 'must be a table name of at most 128 letters, digits, "_", "." and "-"',
  kind: `must be one of ${messageKinds.join(', ')}`,
  name: `must be text of 1 to ${limits.nameCharactersMax} characters`,
  instant: 'must be whole milliseconds since 1970 or ISO 8601 with a zone, up to the year 9999',
} as const;

/**
 * Reads a message of any compatible server: other names of members; offset and times as text, integer or
 * bigint. Units are never guessed: a time is milliseconds, or ISO 8601 with a zone.
 */
export function parseMessage(value: unknown, defaultTable?: string): PlainMessage | NotAMessage {
  if (!isMap(value)) {
    const detail = `a message is a map, not ${typeName(value)}`;
    return { kind: 'rejected', offset: undefined, reason: 'not_a_map', detail };
  }
  const members: Members = { given: value, taken: [], problems: [] };
  const offset = required(members, 'offset', readOffset(take(members, 'offset')), rules.offset);
  const table = readTable(members, defaultTable);
  const messageKind = readKind(members, table);
  const isAudit = messageKind === 'audit';
  const device = isAudit ? undefined : readDeviceId(members);
  const source = isAudit ? undefined : readSource(members);
  const eventTimeMs = required(
    members,
    'event_time',
    readInstant(take(members, 'event_time')),
    rules.instant,
  );
  const storeTimeMs = required(
    members,
    'store_time',
    readInstant(take(members, 'store_time')),
    rules.instant,
  );
  const messageId = readMessageId(members);
  const data = messageKind === 'telemetry' ? readData(members) : {};
  if (messageKind === 'device_status') checkState(members);
  if (
    members.problems.length > 0 ||
    offset === undefined ||
    table === undefined ||
    messageKind === undefined ||
    eventTimeMs === undefined ||
    storeTimeMs === undefined
  ) {
    return rejected(members, offset);
  }
  return {
    kind: 'message',
    offset,
    table,
    messageKind,
    device,
    source,
    eventTimeMs,
    storeTimeMs,
    messageId,
    data,
    members: untaken(members),
  };
}

/** The state of reading one message. */
interface Members {
  given: Record<string, unknown>;
  taken: string[];
  problems: Array<{ member: string; problem: string }>;
}

/** Returns a member under the first of its names that is present. */
function take(members: Members, member: Member): unknown {
  for (const key of spellings[member]) {
    if (!Object.hasOwn(members.given, key)) continue;
    members.taken.push(key);
    const value = members.given[key];
    if (!isAbsent(value)) return value;
  }
  return undefined;
}

function untaken({ given, taken }: Members): Record<string, unknown> {
  const keys = Object.keys(given);
  if (keys.length === taken.length) return {};
  return Object.fromEntries(keys.filter((key) => !taken.includes(key)).map((key) => [key, given[key]]));
}

function wrong(members: Members, member: string, problem: string): undefined {
  members.problems.push({ member, problem });
}

function required<T>(members: Members, member: string, value: T | undefined, problem: string): T | undefined {
  return value === undefined ? wrong(members, member, problem) : value;
}

function rejected({ problems }: Members, offset: bigint | undefined): NotAMessage {
  return {
    kind: 'rejected',
    offset,
    reason: `invalid_${problems[0]?.member}`,
    detail: problems.map(({ member, problem }) => `${member} ${problem}`).join('; '),
  };
}

function readTable(members: Members, defaultTable: string | undefined): string | undefined {
  const table = take(members, 'table') ?? defaultTable;
  return isTableName(table) ? table : wrong(members, 'table', rules.table);
}

/** The kind that the message states, or the kind that its table and members imply. */
function readKind(members: Members, table: string | undefined): MessageKind | undefined {
  const kind = take(members, 'kind');
  if (!isAbsent(kind)) {
    return required(
      members,
      'kind',
      messageKinds.find((known) => known === kind),
      rules.kind,
    );
  }
  const { state, data } = members.given;
  if (table === AUDIT_TABLE) return 'audit';
  if (table === DEVICE_STATUS_TABLE || (typeof state === 'string' && !isMap(data))) return 'device_status';
  return 'telemetry';
}

function readDeviceId(members: Members): string | undefined {
  const device = take(members, 'device');
  return isUuid(device) ? device : wrong(members, 'device', 'must be a UUID');
}

function readSource(members: Members): string | undefined {
  const source = take(members, 'source');
  if (isAbsent(source) || source === '') return undefined;
  return isName(source) ? source : wrong(members, 'source', rules.name);
}

/**
 * A counter of another type does not reject the message. It is kept with the members that the contract does
 * not name.
 */
function readMessageId(members: Members): number | undefined {
  const before = members.taken.length;
  const messageId = take(members, 'msg_id');
  if (isCounter(messageId)) return messageId;
  if (!isAbsent(messageId)) members.taken.length = before;
  return undefined;
}

function readData(members: Members): Record<string, unknown> {
  const data = take(members, 'data');
  if (!isMap(data)) {
    wrong(members, 'data', `must be a map of fields, not ${typeName(data)}`);
    return {};
  }
  for (const name of Object.keys(data)) {
    if (isFieldName(name)) continue;
    const problem =
      name === EXTRA_MEMBER ? `has a field called ${EXTRA_MEMBER}` : `has a name that ${rules.name}`;
    wrong(members, 'data', problem);
    break;
  }
  return data;
}

function checkState(members: Members): void {
  const { state } = members.given;
  if (state !== 'online' && state !== 'offline') wrong(members, 'state', 'must be online or offline');
}
