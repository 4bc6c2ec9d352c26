import type { EncodedBatch } from '../../contract/encode-messages.ts';
import { AUDIT_TABLE, WILDCARD_TABLE } from '../../contract/messages.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import type { Appended, StreamLog } from '../log/stream-log.ts';
import { encodeBody, type IngestRequest } from './encode-body.ts';

/**
 * Takes messages in, all of them or none.
 * @param encode makes messages of the body, here or in a thread
 * @returns once they are durable
 * @throws StreamError InvalidRequest that lists what is wrong with which item, PayloadTooLarge, StorageUnavailable
 */
export async function ingest(
  log: StreamLog,
  request: IngestRequest,
  encode: (request: IngestRequest) => EncodedBatch | Promise<EncodedBatch> = encodeBody,
): Promise<Appended> {
  return log.append(await encode(request));
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
