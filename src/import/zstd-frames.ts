import { type FileHandle, open } from 'node:fs/promises';

/** A part of a packed file: from its first byte to the byte after its last one. */
interface PackedPart {
  start: number;
  end: number;
}

/**
 * The file does not follow the format. The message is for people. The code begins like those of Node for
 * damaged Zstandard data, so callers treat both as a damaged file.
 */
class ZstdError extends Error {
  readonly code = 'ZSTD_frames';
}

const FRAME_MAGIC = 0xfd2fb528;
/** The last four bits can have any value. Readers skip the content of such a frame. */
const SKIPPABLE_FRAME_MAGIC = 0x184d2a50;
/** The type of a block that repeats one byte. */
const RLE_BLOCK = 1;
/** The bits of a frame's descriptor. A checksum is behind the last block. */
const SINGLE_SEGMENT_BIT = 0b10_0000;
const CHECKSUM_BIT = 0b100;
const CHECKSUM_BYTES = 4;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

/**
 * The frames of a Zstandard file (RFC 8878, section 3.1). If Node gets several frames at once, it unpacks
 * only the first one. So this function finds where each frame ends. It does not read their content.
 * @throws ZstdError if the file is cut off or has something else behind a frame
 */
export async function* zstdFrames(path: string): AsyncGenerator<PackedPart> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    for (let start = 0; start < size; ) {
      const end = await frameEnd(file, start);
      if (end > size) throw new ZstdError('unexpected end of file');
      yield { start, end };
      start = end;
    }
  } finally {
    await file.close();
  }
}

async function frameEnd(file: FileHandle, start: number): Promise<number> {
  const magic = (await bytesAt(file, start, 4)).readUInt32LE();
  if ((magic & ~0xf) >>> 0 === SKIPPABLE_FRAME_MAGIC)
    return start + 8 + (await bytesAt(file, start + 4, 4)).readUInt32LE();
  if (magic !== FRAME_MAGIC) throw new ZstdError('there is something else behind the packed data');
  const descriptor = (await bytesAt(file, start + 4, 1))[0]!;
  const isSingleSegment = (descriptor & SINGLE_SEGMENT_BIT) > 0;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6]! || (isSingleSegment ? 1 : 0);
  let at = start + 5 + (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 0b11]! + sizeBytes;
  for (;;) {
    const block = (await bytesAt(file, at, 3)).readUIntLE(0, 3);
    at += 3 + (((block >> 1) & 0b11) === RLE_BLOCK ? 1 : block >> 3);
    if ((block & 1) === 1) return at + ((descriptor & CHECKSUM_BIT) > 0 ? CHECKSUM_BYTES : 0);
  }
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new ZstdError('unexpected end of file');
  return buffer;
}
