import { type EncodedBatch, encodeMessages } from '../../contract/encode-messages.ts';
import type { IngestType } from '../../contract/ingest-types.ts';
import { DEVICE_STATUS_TABLE } from '../../contract/messages.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { checkItems, type ItemProblem, PROBLEMS_LISTED_MAX } from './check-items.ts';
import { copyItems } from './copy-items.ts';
import { readItems } from './read-items.ts';

export interface IngestRequest {
  table: string;
  body: Uint8Array;
  type: IngestType;
  /** The devices that the caller may write for. */
  devices: ReadonlySet<string> | 'all';
}

/**
 * Encodes all items of a body as messages, or none.
 * @throws StreamError InvalidRequest with the problems of each item, PayloadTooLarge
 */
export function encodeBody(request: IngestRequest): EncodedBatch {
  return copyBody(request) ?? rebuildBody(request);
}

/**
 * Encodes telemetry in CBOR, the usual request, without decoding it.
 * @returns undefined for all other bodies, which `rebuildBody` encodes
 */
export function copyBody({ table, body, type, devices }: IngestRequest): EncodedBatch | undefined {
  if (type !== 'application/cbor' || table === DEVICE_STATUS_TABLE) return undefined;
  return copyItems(body, table, devices);
}

/**
 * Decodes a body, checks its items and encodes them again. This takes up to some seconds for a large body.
 */
export function rebuildBody({ table, body, type, devices }: IngestRequest): EncodedBatch {
  const items = readItems(body, type);
  const checked = checkItems(items, table, devices);
  if (checked.kind === 'invalid') throw badItems(checked.problems, checked.badItems, items.length);
  const batch = encodeMessages(checked.items, table);
  const tooLarge = messagesTooLarge(batch);
  if (tooLarge.length > 0)
    throw badItems(tooLarge.slice(0, PROBLEMS_LISTED_MAX), tooLarge.length, items.length);
  return batch;
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
    problems.length < PROBLEMS_LISTED_MAX ? '' : `; the first ${PROBLEMS_LISTED_MAX} problems are listed`;
  return new StreamError(
    'InvalidRequest',
    `${badCount} of ${count} items cannot be accepted, so none was stored${listed}`,
    { parameter: 'body', items: problems },
  );
}
