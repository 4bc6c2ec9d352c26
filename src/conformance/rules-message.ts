import { must, NotTestable } from './breach.ts';
import { contractSections, type Rule } from './rule.ts';
import { firstMessages, sampleOf } from './sample-messages.ts';
import { shorten } from './server-answer.ts';

const SEQUENCE_BITS = 20n;
const STATUSES = 100;

/** Rules on the content of a message. */
export const messageRules: readonly Rule[] = [
  {
    id: 'message.members',
    says: 'A message has the members of its kind: telemetry, device_status or audit',
    source: contractSections.messages,
    async check(probe) {
      const { messages, sent } = await sampleOf(probe);
      for (const { fields } of messages) {
        const problem = problemOf(fields);
        must(problem === undefined, () => `${problem} in ${shorten(fields)}`, sent);
      }
    },
  },
  {
    id: 'message.order',
    says: 'Messages are ordered by offset',
    source: contractSections.messages,
    async check(probe) {
      const { messages, sent } = await sampleOf(probe);
      for (const [index, { offset }] of messages.entries()) {
        const before = messages[index - 1]?.offset ?? -1n;
        must(offset > before, () => `offset ${offset} after ${before}`, sent);
      }
    },
  },
  {
    id: 'message.store-time',
    says: 'An offset is the store_time in milliseconds, shifted by 20 bits, and a sequence',
    source: contractSections.messages,
    async check(probe) {
      const { messages, sent } = await sampleOf(probe);
      for (const { offset, storeTimeMs } of messages)
        must(
          offset >> SEQUENCE_BITS === BigInt(storeTimeMs),
          () => `offset ${offset} with store_time ${storeTimeMs}`,
          sent,
        );
    },
  },
  {
    id: 'message.table',
    says: 'A read of a table returns only messages of this table',
    source: contractSections.tables,
    async check(probe) {
      const { messages, sent } = await sampleOf(probe);
      if (probe.table === '-') throw new NotTestable('all tables are read; name one with --table');
      const other = messages.find(({ fields }) => fields.table !== probe.table);
      must(other === undefined, () => `a message of the table ${shorten(other?.fields.table)}`, sent);
    },
  },
  {
    id: 'message.device-status',
    says: 'The table devices has only messages of kind device_status, each online or offline',
    source: contractSections.messages,
    async check(probe) {
      const some = { table: 'devices', limit: STATUSES, enough: 1 };
      const { messages, sent } = await firstMessages(probe, '', some);
      if (messages.length === 0) throw new NotTestable('the table devices is empty');
      for (const { fields } of messages) {
        const problem =
          fields.kind === 'device_status' ? problemOf(fields) : `the kind ${shorten(fields.kind)}`;
        must(problem === undefined, () => `${problem} in ${shorten(fields)}`, sent);
      }
    },
  },
];

type Fields = Record<string, unknown>;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function problemOf(fields: Fields): string | undefined {
  const checks = kinds[String(fields.kind)];
  if (checks === undefined) return `the kind ${shorten(fields.kind)}`;
  return Object.entries({ ...everyKind, ...checks }).find(([name, isRight]) => !isRight(fields[name]))?.[0];
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isTime: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isUuid: Check = (value) => typeof value === 'string' && UUID.test(value);
const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const isScalar: Check = (value) =>
  value === null || ['number', 'bigint', 'string', 'boolean'].includes(typeof value);
const isData: Check = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(isScalar);

const everyKind: Record<string, Check> = { table: isText, event_time: isTime, store_time: isTime };
const kinds: Readonly<Record<string, Record<string, Check>>> = {
  telemetry: {
    device: isUuid,
    source: (value) => value === null || isText(value),
    msg_id: orAbsent(isTime),
    data: isData,
  },
  device_status: {
    table: (value) => value === 'devices',
    device: isUuid,
    state: (value) => value === 'online' || value === 'offline',
    reason: orAbsent(isText),
  },
  audit: {
    table: (value) => value === 'audit_logs',
    actor: isText,
    action: isText,
    target: orAbsent(isText),
    data: orAbsent(isData),
  },
};
