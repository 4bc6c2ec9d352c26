import { z } from 'zod';
import { StreamError } from '../contract/errors.ts';
import { limits } from '../contract/limits.ts';
import { WILDCARD_TABLE } from '../contract/messages.ts';
import { parseReadQuery, parseTable, type ReadDefaults } from './read-request.ts';
import type { ReadStart } from './read-start.ts';

export interface SubscribeRequest {
  requestId: string;
  start: ReadStart;
  /** Messages a frame, at most. */
  limit: number;
  /** A table, or the wildcard; undefined where the client names none and gets all that its token may see. */
  table: string | undefined;
}

const requestIdSchema = z.guid();
const membersSchema = z.record(z.string(), z.unknown());
const defaults: ReadDefaults = { start: { kind: 'newest' }, limit: limits.frameMessagesMax };

/**
 * Reads the payload of a subscription. Unknown members are ignored, and one that is null counts as absent.
 * @throws StreamError InvalidRequest, InvalidOffset, InvalidTimestamp or InvalidLimit
 */
export function parseSubscribe(payload: unknown): SubscribeRequest {
  const requestId = requestIdOf(payload);
  const members = membersSchema.safeParse(payload).data ?? {};
  const own = (name: string) => (Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined);
  const table = own('table');
  return {
    requestId,
    ...parseReadQuery(
      {
        offset: parameterText(own('offset')),
        timestamp: parameterText(own('timestamp')),
        limit: parameterText(own('limit')),
      },
      defaults,
    ),
    table: table === undefined || table === WILDCARD_TABLE ? table : parseTable(table, 'table'),
  };
}

/**
 * The `requestId` of a payload.
 * @throws StreamError InvalidRequest where it has none
 */
export function requestIdOf(payload: unknown): string {
  const members = membersSchema.safeParse(payload).data;
  const parsed = requestIdSchema.safeParse(members?.requestId);
  if (parsed.success) return parsed.data;
  throw new StreamError('InvalidRequest', 'requestId must be a UUID, a new one for each subscription', {
    parameter: 'requestId',
  });
}

/** As it would stand in an address. A number that does not hold all its digits any more is not one of them. */
function parameterText(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : '';
}
