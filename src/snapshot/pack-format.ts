import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { errorCode } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';

/*
 * A pack is a file with the changed blocks of a warehouse file and a map of all its blocks:
 *
 * - magic: 8 bytes
 * - blocks: each compressed by zstd, or as it is if that is not smaller
 * - map: compressed by zstd; one line of JSON, then 46 bytes for each block
 * - trailer: 52 bytes; offset and length of the map, SHA-256 of the map, magic
 *
 * The map says for each block in which pack it is. The SHA-256 of a block is computed from its bytes in the
 * warehouse file. A part of a pack has the magic and blocks only.
 */

/** The headers of a DuckDB file: three of 4,096 bytes. */
export const HEAD_BYTES = 12_288;
/**
 * The size of a block of a pack. It covers four blocks of a warehouse file, which has blocks of 64 KiB. Packs
 * that exist name this size, and another one is refused (`blockBytes`). So if it changes, older snapshots and
 * backups can no longer be read.
 */
export const BLOCK_BYTES = 262_144;
export const MAGIC = Buffer.from('WLPACK01', 'latin1');
export const TRAILER_BYTES = 52;
/** A pack is written as parts of about this size. S3 takes at most 5 GiB with one PUT. */
export const PACK_BYTES = 2 ** 30;
const ENTRY_BYTES = 46;
/** The maximum number of packs of a map. A snapshot has far fewer. */
const PACKS_MAX = 4_096;
const FILE_BYTES_MAX = 2 ** 40;
/** The longest line of JSON of a map. A map with the most packs has a shorter one. */
const MAP_HEAD_BYTES_MAX = MEBIBYTE;

/** A pack that is complete: the name of its object, its size and its SHA-256. */
export interface PackObject {
  key: string;
  bytes: number;
  sha256: string;
}

/** Where a block is. */
export interface BlockPlace {
  /** An index into `packs`. */
  pack: number;
  offset: number;
  /** Equal to the size of the block if it is not compressed. */
  length: number;
  /** 32 bytes: the SHA-256 of the block in the warehouse file. */
  sha256: Buffer;
}

/** The map of one warehouse file. */
export interface PackMap {
  fileBytes: number;
  /** The packs that have blocks of the file. */
  packs: PackObject[];
  blocks: BlockPlace[];
}

const keySchema = z.string().regex(/^snapshots\/[0-9a-z-]+\.pack$/);
const headSchema = z.strictObject({
  format: z.literal(1),
  fileBytes: z.number().int().min(HEAD_BYTES).max(FILE_BYTES_MAX),
  headBytes: z.literal(HEAD_BYTES),
  blockBytes: z.literal(BLOCK_BYTES),
  /** The pack itself is the first one. Its size and its SHA-256 are not known in it. */
  key: keySchema,
  others: z
    .array(
      z.strictObject({
        key: keySchema,
        bytes: z.number().int().min(1),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .max(PACKS_MAX),
});

export const compress = promisify(zstdCompress);
export const decompress = promisify(zstdDecompress);

/** Where block `index` is in the warehouse file. The first one is the headers. */
export function blockRange(index: number, fileBytes: number): { start: number; length: number } {
  const start = index === 0 ? 0 : HEAD_BYTES + (index - 1) * BLOCK_BYTES;
  const size = index === 0 ? HEAD_BYTES : BLOCK_BYTES;
  return { start, length: Math.min(size, fileBytes - start) };
}

export function blockCount(fileBytes: number): number {
  return 1 + Math.ceil((fileBytes - HEAD_BYTES) / BLOCK_BYTES);
}

/**
 * Map and trailer as they stand at the end of a pack. The first pack of the map is the pack that is written.
 */
export async function encodeMap({ fileBytes, packs, blocks }: PackMap, mapOffset: number): Promise<Buffer> {
  const [own, ...others] = packs;
  const head: z.input<typeof headSchema> = {
    format: 1,
    fileBytes,
    headBytes: HEAD_BYTES,
    blockBytes: BLOCK_BYTES,
    key: own!.key,
    others,
  };
  const entries = Buffer.alloc(blocks.length * ENTRY_BYTES);
  for (const [index, { pack, offset, length, sha256 }] of blocks.entries()) {
    const at = index * ENTRY_BYTES;
    entries.writeUInt32LE(pack, at);
    entries.writeUIntLE(offset, at + 4, 6);
    entries.writeUInt32LE(length, at + 10);
    sha256.copy(entries, at + 14);
  }
  const map = await compress(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), entries]));
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUIntLE(mapOffset, 0, 6);
  trailer.writeUIntLE(map.length, 6, 6);
  createHash('sha256').update(map).digest().copy(trailer, 12);
  MAGIC.copy(trailer, 44);
  return Buffer.concat([map, trailer]);
}

/** Where the map of a pack is. @returns undefined if the bytes are not a trailer */
export function decodeTrailer(
  trailer: Buffer,
  packBytes: number,
): { mapOffset: number; mapBytes: number; sha256: Buffer } | undefined {
  if (trailer.length !== TRAILER_BYTES || !trailer.subarray(44).equals(MAGIC)) return undefined;
  const mapOffset = trailer.readUIntLE(0, 6);
  const mapBytes = trailer.readUIntLE(6, 6);
  if (mapOffset < MAGIC.length || mapOffset + mapBytes + TRAILER_BYTES !== packBytes) return undefined;
  return { mapOffset, mapBytes, sha256: trailer.subarray(12, 44) };
}

/**
 * The maximum number of bytes of the map of a file, not compressed. A larger file than a snapshot can have
 * gets no larger map.
 */
export function mapBytesMax(fileBytes: number): number {
  return MAP_HEAD_BYTES_MAX + blockCount(Math.min(fileBytes, FILE_BYTES_MAX)) * ENTRY_BYTES;
}

/**
 * @param own the pack that has the map
 * @param fileBytes the noted size of the warehouse file. It bounds the memory that the map takes
 * @throws Error if the bytes are not a map, or the map is not of this pack or of another file
 */
export async function decodeMap(map: Buffer, own: PackObject, fileBytes: number): Promise<PackMap> {
  const bytesMax = mapBytesMax(fileBytes);
  const raw = await decompress(map, { maxOutputLength: bytesMax }).catch((error: unknown) => {
    throw errorCode(error) === 'ERR_BUFFER_TOO_LARGE'
      ? new Error(`it has more than ${bytesMax} bytes, which is too much for a file of ${fileBytes} bytes`)
      : error;
  });
  const newline = raw.indexOf(10);
  const head = headSchema.parse(JSON.parse(raw.toString('utf8', 0, newline)));
  if (head.key !== own.key) throw new Error(`the map is of ${head.key}`);
  const entries = raw.subarray(newline + 1);
  if (head.fileBytes !== fileBytes)
    throw new Error(`it is of a file of ${head.fileBytes} bytes instead of ${fileBytes}`);
  if (entries.length !== blockCount(fileBytes) * ENTRY_BYTES)
    throw new Error('the map has another number of blocks');
  const packs = [own, ...head.others];
  const blocks = Array.from({ length: blockCount(fileBytes) }, (_, index): BlockPlace => {
    const at = index * ENTRY_BYTES;
    const place = {
      pack: entries.readUInt32LE(at),
      offset: entries.readUIntLE(at + 4, 6),
      length: entries.readUInt32LE(at + 10),
      sha256: entries.subarray(at + 14, at + ENTRY_BYTES),
    };
    const pack = packs[place.pack];
    const { length } = blockRange(index, fileBytes);
    if (
      !pack ||
      place.offset < MAGIC.length ||
      place.offset + place.length > pack.bytes ||
      place.length < 1 ||
      place.length > length
    )
      throw new Error(`the map has no place of block ${index}`);
    return place;
  });
  return { fileBytes, packs, blocks };
}
