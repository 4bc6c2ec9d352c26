import { MEBIBYTE } from '../lib/units.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import { type BlockPlace, MAGIC, type PackObject } from './pack-format.ts';
import { throwMissing } from './read-pack.ts';

export type WantedBlock = BlockPlace & {
  /** Its number in the warehouse file. */
  index: number;
};

/** Some bytes of a pack, and the wanted blocks in them. */
export interface PackPiece {
  start: number;
  bytes: Buffer;
  blocks: WantedBlock[];
}

type Range = Omit<PackPiece, 'bytes'> & { end: number };

/** A store that charges for requests gets few, and memory has few of them. */
const PIECE_BYTES = 8 * MEBIBYTE;
/** Pieces that are read while the caller uses one. A single request does not use the whole network. */
const AHEAD = 2;

/**
 * Reads a pack once, from its beginning to its end, in pieces that cut no wanted block.
 * @param options.pieceBytes the size of a piece, at least the size of a block. Default: 8 MiB
 * @throws TerminalError `ObjectMissing`, or `ObjectDamaged` if the pack has another size, or its blocks
 *   overlap
 */
export async function* readPieces(
  store: ObjectStore,
  pack: PackObject,
  wanted: readonly WantedBlock[],
  { pieceBytes = PIECE_BYTES, signal }: { pieceBytes?: number; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<PackPiece> {
  const damagedError = (what: string) => damagedObject(store.address, pack.key, what);
  const stopping = new AbortController();
  const either = signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal;
  const ranges = rangesOf(pack, wanted, pieceBytes, damagedError);
  const read = async ({ start, end, blocks }: Range): Promise<PackPiece> => {
    // A byte more than the pack has shows that the object is longer.
    const length = end - start + (end === pack.bytes ? 1 : 0);
    const bytes = (await store.getRange(pack.key, start, length, either)) ?? throwMissing(store, pack.key);
    if (bytes.length < end - start) throw damagedError(`it has fewer than the noted ${pack.bytes} bytes`);
    if (bytes.length > end - start) throw damagedError(`it has more than the noted ${pack.bytes} bytes`);
    if (start === 0 && !bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw damagedError('it is not a pack');
    return { start, bytes, blocks };
  };
  const reading: Array<Promise<PackPiece>> = [];
  const readNext = () => {
    const range = ranges.shift();
    if (!range) return;
    const piece = read(range);
    // The error is thrown where this is awaited. This line only prevents an unhandled rejection.
    piece.catch(() => undefined);
    reading.push(piece);
  };
  try {
    for (let ahead = 0; ahead < AHEAD; ahead++) readNext();
    for (;;) {
      const next = reading.shift();
      if (!next) return;
      const piece = await next;
      readNext();
      yield piece;
    }
  } finally {
    stopping.abort();
    await Promise.allSettled(reading);
  }
}

function rangesOf(
  { bytes }: PackObject,
  wanted: readonly WantedBlock[],
  pieceBytes: number,
  damagedError: (what: string) => Error,
): Range[] {
  const queue = wanted.toSorted((a, b) => a.offset - b.offset);
  const ranges: Range[] = [];
  let next = 0;
  for (let start = 0; start < bytes; ) {
    let end = Math.min(start + pieceBytes, bytes);
    const blocks: WantedBlock[] = [];
    for (; next < queue.length && queue[next]!.offset < end; next++) {
      const block = queue[next]!;
      const before = blocks.at(-1);
      if (before && block.offset < endOf(before)) throw damagedError('its blocks overlap');
      if (endOf(block) > end) end = block.offset;
      else blocks.push(block);
      if (end === block.offset) break;
    }
    ranges.push({ start, end, blocks });
    start = end;
  }
  return ranges;
}

function endOf({ offset, length }: BlockPlace): number {
  return offset + length;
}
