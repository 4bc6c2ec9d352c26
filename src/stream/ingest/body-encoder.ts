import type { EncodedBatch } from '../../contract/encode-messages.ts';
import { StreamError, type StreamErrorCode, type StreamErrorDetails } from '../../contract/stream-errors.ts';
import { createFairThreads } from '../../lib/fair-threads.ts';
import { siblingModule } from '../../lib/sibling-module.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import { copyBody, type IngestRequest, rebuildBody } from './encode-body.ts';

/** The answer of the thread. */
export type ThreadAnswer =
  | (Pick<EncodedBatch, 'bytes' | 'starts' | 'devices' | 'count'> & {
      kind: 'batch';
      /** The table of all messages. */
      table: string;
    })
  | { kind: 'refused'; code: StreamErrorCode; message: string; details: StreamErrorDetails };

/** Encodes bodies without blocking the event loop: small ones at once, large ones in a thread. */
interface BodyEncoder {
  /**
   * @param owner the owner of the body; each owner has at most one body in the threads, so that all owners
   *   get a turn
   * @throws StreamError as `encodeBody`
   */
  encode(request: IngestRequest, owner: string): Promise<EncodedBatch>;
  close(): Promise<void>;
}

/** Any body up to this size takes a few milliseconds. */
const REBUILT_HERE_BYTES_MAX = 48 * 1024;
/** A body of telemetry in CBOR up to this size takes a few milliseconds. */
const COPIED_HERE_BYTES_MAX = MEBIBYTE;
const THREADS_MAX = 2;

export function createBodyEncoder(): BodyEncoder {
  const threads = createFairThreads<IngestRequest, ThreadAnswer>({
    module: siblingModule('encode-thread', import.meta.url),
    threadsMax: THREADS_MAX,
    closedError: () => new StreamError('Draining', 'the service is shutting down'),
  });
  return {
    async encode(request, owner) {
      const { length } = request.body;
      if (length <= COPIED_HERE_BYTES_MAX) {
        const copied = copyBody(request);
        if (copied !== undefined) return copied;
      }
      if (length <= REBUILT_HERE_BYTES_MAX) return rebuildBody(request);
      const answer = await threads.run(request, owner);
      if (answer.kind === 'batch') return batchOf(answer);
      throw new StreamError(answer.code, answer.message, answer.details);
    },
    close: threads.close,
  };
}

function batchOf({ bytes, starts, devices, count, table }: ThreadAnswer & { kind: 'batch' }): EncodedBatch {
  return { bytes, starts, devices, count, tables: new Array<string>(count).fill(table) };
}
