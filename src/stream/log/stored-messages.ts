import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeCbor } from '../../cbor/cbor-codec.ts';
import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';
import type { StreamLog } from './stream-log.ts';

/** Whoever walks lets requests through this often. */
const TURN_MS = 5;

/** What a log stores from a position on, to its end. */
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

/** A stored message as it is, for the few that the service itself has to look into. */
export type StoredMessage = Readonly<Record<string, unknown>>;

/** Reads message `index` of a chunk. */
export function storedMessage({ bytes, starts }: Chunk, index: number): StoredMessage {
  return decodeCbor(bytes.subarray(starts[index]!, starts[index + 1]!)) as StoredMessage;
}
