import type { RawAnswer } from '../../src/client/rest-source.ts';
import { configSchema } from '../../src/config/config.ts';
import { encodeMessages, stampMessages } from '../../src/contract/encode-messages.ts';
import type { Assignment } from '../../src/pipeline/assignment.ts';
import { encodeReadHead } from '../../src/stream/encode-read-head.ts';
import { telemetry } from '../support/messages.ts';

export function assignmentOf(dataDir: string, id = 'acme'): Assignment {
  const config = configSchema.parse({
    workgroups: [{ id }],
    pipeline: { warehouseMemoryMegabytes: 256 },
  });
  return { ...config, workgroup: config.workgroups[0]!, dataDir };
}

/** What a server of ours answers: messages with the offsets from `first` to `end`. */
export function answerOf(first: number, end: number, upToDate = false): RawAnswer {
  const batch = encodeMessages(telemetry(end - first, { first }), 'solar');
  stampMessages(batch, BigInt(first), 1_800_000_000_000 + first);
  const header = encodeReadHead({
    count: batch.count,
    nextOffset: BigInt(end),
    upToDate,
    earliestOffset: 0n,
    epoch: 'log-1',
  });
  return rawAnswer(Buffer.concat([header, batch.bytes]), 'application/cbor');
}

export function rawAnswer(body: Uint8Array | string, contentType: string, status = 200): RawAnswer {
  return {
    status,
    contentType,
    contentEncoding: '',
    bytes: new Uint8Array(Buffer.from(body)),
    nextOffset: undefined,
    upToDate: undefined,
    retryAfterMs: undefined,
    lagMessages: undefined,
    durationMs: 0,
  };
}
