import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
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
 * Looks at how a file begins, because what is not what its name says would be read as something else.
 * @throws InputError with what it is instead, and what to do
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
      throw fileProblem(path, `is packed with ${packing.compression}: let its name end in ${packing.ending}`);
    }
    if (!isPacked && packing.compression === compression) {
      throw fileProblem(
        path,
        `is not packed with ${compression}, as its name says: let it not end in ${packing.ending}`,
      );
    }
  }
  if (beginsWith(start, [0x50, 0x4b, 3, 4])) {
    throw fileProblem(path, 'is a spreadsheet or a ZIP: save it as CSV, or unpack it');
  }
  const isParquet = beginsWith(start, Buffer.from('PAR1'));
  if (format === 'parquet' && !isParquet) throw fileProblem(path, 'is no Parquet file, as its name says');
  if (format === 'parquet') return;
  if (isParquet) throw fileProblem(path, 'is a Parquet file: let its name end in .parquet');
  const text = compression === 'none' ? start : await firstBytes(path, compression);
  const order = wideOrder(text);
  if (order === 'big') {
    throw fileProblem(path, 'is UTF-16 in big-endian order, which cannot be read: save it as UTF-8');
  }
  if (order === undefined && isBinary(text)) throw fileProblem(path, 'holds no text');
}

/** How the text of a file seems to be written: UTF-8 wherever it can be. */
export async function guessEncoding(path: string, compression: Compression): Promise<Encoding> {
  const text = await firstBytes(path, compression);
  if (wideOrder(text) !== undefined) return 'utf-16';
  try {
    // What the last bytes begin may go on beyond them.
    new TextDecoder('utf-8', { fatal: true }).decode(text, { stream: true });
    return 'utf-8';
  } catch {
    return 'latin-1';
  }
}

/** The order of the bytes where it is UTF-16: with a mark at its beginning, or else every second byte of Western text is zero. */
function wideOrder(text: Uint8Array): 'little' | 'big' | undefined {
  if (beginsWith(text, [0xff, 0xfe])) return 'little';
  if (beginsWith(text, [0xfe, 0xff])) return 'big';
  const zeros = [0, 0];
  for (const [index, byte] of text.entries()) if (byte === 0) zeros[index % 2]! += 1;
  const [even = 0, odd = 0] = zeros.map((count) => count / Math.max(1, text.length / 2));
  if (odd > 0.5 && even < 0.1) return 'little';
  return even > 0.5 && odd < 0.1 ? 'big' : undefined;
}

/** More of it is control characters than any text has. */
function isBinary(text: Uint8Array): boolean {
  const controls = text.reduce(
    (sum, byte) => sum + Number(byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d),
    0,
  );
  return controls > text.length / 50 + 5;
}

function beginsWith(bytes: Uint8Array, start: ArrayLike<number>): boolean {
  return bytes.length >= start.length && Array.from(start).every((byte, index) => bytes[index] === byte);
}

/** The first bytes as they are unpacked; as many as can be had of what is damaged. */
export async function firstBytes(path: string, compression: Compression): Promise<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: BYTES_MAX, end: 4 * BYTES_MAX });
  const unpack =
    compression === 'none' ? undefined : compression === 'gzip' ? createGunzip() : createZstdDecompress();
  // What is wrong with it is told by whoever reads all of it.
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
    if (compression === 'none')
      throw fileProblem(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  } finally {
    file.destroy();
  }
  return Buffer.concat(chunks).subarray(0, BYTES_MAX);
}
