import { z } from 'zod';
import { WILDCARD_TABLE } from '../../contract/messages.ts';
import { parseTable } from '../../contract/parse-table.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { isMap } from '../../decode/parse-values.ts';
import { parseReadQuery, type ReadDefaults } from '../rest/read-request.ts';

interface SubscribeRequest {
  requestId: string;
  start: ReadStart;
  /** The largest number of messages in a frame. */
  limit: number;
  /**
   * A table or the wildcard. Undefined if the client names none; it then gets everything that its token may
   * read.
   */
  table: string | undefined;
}

const requestIdSchema = z.guid();
const defaults: ReadDefaults = { start: { kind: 'newest' }, limit: limits.frameMessagesMax };

/**
 * Reads the payload of a subscription. Unknown members are ignored. A member that is null counts as absent.
 * @throws StreamError InvalidRequest, InvalidOffset, InvalidTimestamp or InvalidLimit
 */
export function parseSubscribe(payload: unknown): SubscribeRequest {
  const requestId = requestIdOf(payload);
  const member = (name: string) => memberOf(payload, name) ?? undefined;
  const table = member('table');
  const offset = member('offset');
  if (typeof offset === 'number' && Number.isInteger(offset) && !Number.isSafeInteger(offset))
    throw new StreamError(
      'InvalidOffset',
      'offset must be sent as text: as a number it loses its last digits',
      {
        parameter: 'offset',
      },
    );
  return {
    requestId,
    ...parseReadQuery(
      {
        offset: parameterText(offset),
        timestamp: parameterText(member('timestamp')),
        limit: parameterText(member('limit')),
      },
      defaults,
    ),
    table: table === undefined || table === WILDCARD_TABLE ? table : parseTable(table, 'table'),
  };
}

/**
 * The `requestId` of a payload.
 * @throws StreamError InvalidRequest if there is none
 */
export function requestIdOf(payload: unknown): string {
  const parsed = requestIdSchema.safeParse(memberOf(payload, 'requestId'));
  if (parsed.success) return parsed.data;
  throw new StreamError('InvalidRequest', 'requestId must be a UUID, a new one for each subscription', {
    parameter: 'requestId',
  });
}

function memberOf(payload: unknown, name: string): unknown {
  return isMap(payload) ? payload[name] : undefined;
}

/**
 * The text of a parameter as in a URL. A number that has lost digits becomes empty text, which is invalid.
 */
function parameterText(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : '';
}
