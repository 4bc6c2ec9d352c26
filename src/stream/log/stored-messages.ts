import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeCbor } from '../../cbor/cbor-codec.ts';
import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';
import type { StreamLog } from './stream-log.ts';

/** The loop gives other work a turn this often. */
const TURN_MS = 5;

/** The stored chunks of a log from a position to the end. */
export async function* chunksFrom(streamLog: StreamLog, position: Offset): AsyncGenerator<Chunk> {
  let turnMs = performance.now();
  for (;;) {
    const chunk = await streamLog.chunkFrom(position);
    if (chunk === undefined) return;
    yield chunk;
    position = chunk.lastOffset + 1n;
    if (performance.now() - turnMs < TURN_MS) continue;
    await nextTurn();
    turnMs = performance.now();
  }
}

/** A stored message, decoded. Only the service itself decodes stored messages. */
export type StoredMessage = Readonly<Record<string, unknown>>;

/** Decodes message `index` of a chunk. */
export function storedMessage({ bytes, starts }: Chunk, index: number): StoredMessage {
  return decodeCbor(bytes.subarray(starts[index]!, starts[index + 1]!)) as StoredMessage;
}
