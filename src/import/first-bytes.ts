import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { detectEncoding, isUtf32 } from '../foreign-table/text-encoding.ts';
import { cannotBeRead } from '../lib/errors.ts';
import type { Compression } from './file-kind.ts';
import type { FileFormat, Mapping } from './import-mapping.ts';
import { fileProblem } from './open-reader.ts';

type Encoding = Mapping['csv']['encoding'];

const BYTES_MAX = 64 * 1024;

const packings = [
  { compression: 'gzip', magic: [0x1f, 0x8b], ending: '.gz' },
  { compression: 'zstd', magic: [0x28, 0xb5, 0x2f, 0xfd], ending: '.zst' },
] as const;

/**
 * Checks the first bytes of a file against its name.
 * @throws InputError with the actual kind of file, and what to do
 */
export async function checkFirstBytes(
  path: string,
  format: FileFormat,
  compression: Compression,
): Promise<void> {
  const start = await firstBytes(path, 'none');
  if (start.length === 0) throw fileProblem(path, 'is empty');
  for (const packing of packings) {
    const isPacked = beginsWith(start, packing.magic);
    if (isPacked && packing.compression !== compression) {
      throw fileProblem(
        path,
        `is packed with ${packing.compression}: its name must end in ${packing.ending}`,
      );
    }
    if (!isPacked && packing.compression === compression) {
      throw fileProblem(
        path,
        `is not packed with ${compression}: its name must not end in ${packing.ending}`,
      );
    }
  }
  if (beginsWith(start, [0x50, 0x4b, 3, 4])) {
    throw fileProblem(path, 'is a spreadsheet or a ZIP: save it as CSV, or unpack it');
  }
  const isParquet = beginsWith(start, Buffer.from('PAR1'));
  if (format === 'parquet' && !isParquet)
    throw fileProblem(path, 'is not a Parquet file, although its name ends in .parquet');
  if (format === 'parquet') return;
  if (isParquet) throw fileProblem(path, 'is a Parquet file: its name must end in .parquet');
  const text = compression === 'none' ? start : await firstBytes(path, compression);
  if (isUtf32(text)) throw fileProblem(path, 'is UTF-32, which cannot be read: save it as UTF-8');
  const encoding = detectEncoding(text);
  if (encoding === undefined) throw fileProblem(path, 'contains no text');
  if (encoding === 'utf-16be')
    throw fileProblem(path, 'is UTF-16 in big-endian order, which cannot be read: save it as UTF-8');
  // DuckDB would search a large part of such a file for a heading, which takes a minute.
  if (text.length === BYTES_MAX && new TextDecoder(encoding).decode(text).trim() === '')
    throw fileProblem(path, 'begins with empty lines, and nothing else is in its first 64 KiB: remove them');
}

/** The encoding of a text file, as DuckDB names it. */
export async function guessEncoding(path: string, compression: Compression): Promise<Encoding> {
  switch (detectEncoding(await firstBytes(path, compression))) {
    case 'utf-16le':
    case 'utf-16be':
      return 'utf-16';
    case 'windows-1252':
      return 'latin-1';
    default:
      return 'utf-8';
  }
}

function beginsWith(bytes: Uint8Array, start: ArrayLike<number>): boolean {
  return bytes.length >= start.length && Array.from(start).every((byte, index) => bytes[index] === byte);
}

/** The first bytes of a file, unpacked. If the file is damaged, as many of them as can be read. */
export async function firstBytes(path: string, compression: Compression): Promise<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: BYTES_MAX, end: 4 * BYTES_MAX });
  const unpack =
    compression === 'none' ? undefined : compression === 'gzip' ? createGunzip() : createZstdDecompress();
  // The reader of the whole file reports damage.
  const bytes = unpack ? pipeline(file, unpack, () => undefined) : file;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= BYTES_MAX) break;
    }
  } catch (error) {
    if (compression === 'none') throw fileProblem(path, cannotBeRead(error));
  } finally {
    file.destroy();
  }
  return Buffer.concat(chunks).subarray(0, BYTES_MAX);
}
