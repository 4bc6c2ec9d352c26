import type { EncodedBatch } from '../../contract/encode-messages.ts';
import { AUDIT_TABLE, WILDCARD_TABLE } from '../../contract/messages.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import type { Appended, StreamLog } from '../log/stream-log.ts';
import { encodeBody, type IngestRequest } from './encode-body.ts';

/**
 * Appends all messages of a body, or none.
 * @param encode encodes the body, in this thread or in another one
 * @returns when the messages are durable
 * @throws StreamError InvalidRequest with the problems of each item, PayloadTooLarge, StorageUnavailable
 */
export async function ingest(
  log: StreamLog,
  request: IngestRequest,
  encode: (request: IngestRequest) => EncodedBatch | Promise<EncodedBatch> = encodeBody,
): Promise<Appended> {
  return log.append(await encode(request));
}

/**
 * Checks if devices may write to a table.
 * @throws StreamError InvalidRequest for the audit table, which belongs to the service, and for `-`, which is
 *   not a table
 */
export function requireWritable(table: string): void {
  if (table === AUDIT_TABLE || table === WILDCARD_TABLE)
    throw new StreamError('InvalidRequest', `messages cannot be sent to the table "${table}"`, {
      parameter: 'tableName',
    });
}
