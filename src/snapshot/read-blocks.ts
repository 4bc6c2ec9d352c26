import { hash } from 'node:crypto';
import { blockCount, blockRange } from './pack-format.ts';

interface ReadBlock {
  index: number;
  /** Valid until the next blocks are asked for. */
  bytes: Buffer<ArrayBuffer>;
}

/** Blocks in memory at the same time, twice. */
const BATCH = 8;

/**
 * Reads a warehouse file from its beginning to its end, some blocks at a time. The next ones are read while
 * the caller uses these.
 * @param read fills `target` with the bytes of the file from `position` on
 */
export async function* readBlocks(
  fileBytes: number,
  read: (target: Buffer<ArrayBuffer>, position: number) => Promise<void>,
): AsyncGenerator<ReadBlock[]> {
  const count = blockCount(fileBytes);
  const last = blockRange(Math.min(count, BATCH + 1) - 1, fileBytes);
  // New memory for each batch would cost more than to read it.
  const buffers = [0, 1].map(() => Buffer.allocUnsafeSlow(last.start + last.length));
  const readFrom = async (from: number): Promise<ReadBlock[]> => {
    const size = Math.min(BATCH, count - from);
    const ranges = Array.from({ length: size }, (_, at) => blockRange(from + at, fileBytes));
    const { start } = ranges[0]!;
    const end = ranges.at(-1)!.start + ranges.at(-1)!.length;
    const bytes = buffers[(from / BATCH) % 2]!.subarray(0, end - start);
    await read(bytes, start);
    return ranges.map((range, at) => ({
      index: from + at,
      bytes: bytes.subarray(range.start - start, range.start - start + range.length),
    }));
  };
  let next = readFrom(0);
  try {
    for (let from = 0; from < count; from += BATCH) {
      const blocks = await next;
      if (from + BATCH < count) {
        next = readFrom(from + BATCH);
        // The error is thrown where this is awaited. This line only prevents an unhandled rejection.
        next.catch(() => undefined);
      }
      yield blocks;
    }
  } finally {
    // The caller closes the file.
    await next.catch(() => undefined);
  }
}

/**
 * The SHA-256 of a block. It is computed on this thread, which takes a fifth of a millisecond. Another thread
 * would need a copy of the block, and the copy costs as much.
 */
export function sha256OfBlock(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}
