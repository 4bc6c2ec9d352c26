import { decodeCbor } from '../contract/codec.ts';
import type { Chunk } from './chunk.ts';

/** A stored message as it is, for the few that the service itself has to look into. */
export type StoredMessage = Readonly<Record<string, unknown>>;

/** Reads message `index` of a chunk. */
export function storedMessage({ bytes, starts }: Chunk, index: number): StoredMessage {
  return decodeCbor(bytes.subarray(starts[index]!, starts[index + 1]!)) as StoredMessage;
}
