import { type EncodedBatch, encodeMessages } from '../../contract/encode-messages.ts';
import { AUDIT_TABLE, DEVICE_STATUS_TABLE, WILDCARD_TABLE } from '../../contract/messages.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Appended, StreamLog } from '../log/stream-log.ts';
import { checkItems, type ItemProblem, problemsListedMax } from './check-items.ts';
import { copyItems } from './copy-items.ts';
import { type IngestType, readItems } from './ingest-body.ts';

export interface IngestRequest {
  table: string;
  body: Uint8Array;
  type: IngestType;
  /** The only devices that the caller may write for. */
  devices: ReadonlySet<string> | 'all';
}

/**
 * Takes messages in, all of them or none.
 * @returns once they are durable
 * @throws StreamError InvalidRequest that lists what is wrong with which item, PayloadTooLarge, StorageUnavailable
 */
export async function ingest(log: StreamLog, request: IngestRequest): Promise<Appended> {
  return log.append(encodeBody(request));
}

/** The usual request, telemetry in CBOR, is not taken apart; whatever is unusual about another comes out below. */
function encodeBody({ table, body, type, devices }: IngestRequest): EncodedBatch {
  if (type === 'application/cbor' && table !== DEVICE_STATUS_TABLE) {
    const copied = copyItems(body, table, devices);
    if (copied !== undefined) return copied;
  }
  const items = readItems(body, type);
  const checked = checkItems(items, table, devices);
  if (checked.kind === 'invalid') throw badItems(checked.problems, checked.badItems, items.length);
  const batch = encodeMessages(checked.items, table);
  const tooLarge = messagesTooLarge(batch);
  if (tooLarge.length > 0)
    throw badItems(tooLarge.slice(0, problemsListedMax), tooLarge.length, items.length);
  return batch;
}

/**
 * Whether a table can be written from outside.
 * @throws StreamError InvalidRequest: audit messages are the service's own, and `-` is no table
 */
export function requireWritable(table: string): void {
  if (table === AUDIT_TABLE || table === WILDCARD_TABLE)
    throw new StreamError('InvalidRequest', `messages cannot be sent to the table "${table}"`, {
      parameter: 'tableName',
    });
}

function messagesTooLarge({ starts, count }: EncodedBatch): ItemProblem[] {
  const problems: ItemProblem[] = [];
  for (let index = 0; index < count; index++)
    if (starts[index + 1]! - starts[index]! > limits.messageBytesMax)
      problems.push({ index, field: 'data', reason: `is larger than ${limits.messageBytesMax} bytes` });
  return problems;
}

function badItems(problems: ItemProblem[], badCount: number, count: number): StreamError {
  const listed =
    problems.length < problemsListedMax ? '' : `; the first ${problemsListedMax} problems are listed`;
  return new StreamError(
    'InvalidRequest',
    `${badCount} of ${count} items cannot be accepted, so none was stored${listed}`,
    { parameter: 'body', items: problems },
  );
}
