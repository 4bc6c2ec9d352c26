import { crc32, inflateRawSync } from 'node:zlib';
import { errorCode } from '../lib/errors.ts';

/**
 * The files of a ZIP archive. This is our own reader, because a small archive can unpack to gigabytes, and
 * the libraries that were tried have no limit of their own (docs/decisions.md).
 */
export interface ZipArchive {
  names: readonly string[];
  /** The unpacked file. Undefined if the archive has no such file. @throws ZipError */
  read(name: string): Buffer | undefined;
}

/** The archive cannot be read. The message is for people. */
export class ZipError extends Error {}

const END_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const ENTRY_BYTES = 46;
const signatures = { end: 0x06054b50, entry: 0x02014b50, head: 0x04034b50 } as const;
const STORED = 0;
const DEFLATED = 8;
/**
 * The largest number of a field of 16 or 32 bits means that the value is in an extension for large archives.
 */
const LARGE_32 = 0xff_ff_ff_ff;

/**
 * Opens a ZIP archive by the directory at its end.
 * @param bytesMax the most unpacked bytes of all files that are read, because a small archive can unpack to a
 *   very large one
 * @throws ZipError if it is not a ZIP archive
 */
export function openZip(archive: Buffer, bytesMax: number): ZipArchive {
  const entries = readDirectory(archive);
  let left = bytesMax;
  /** A file that is read again is counted once. */
  const counted = new Map<string, number>();
  return {
    names: [...entries.keys()],
    read(name) {
      const entry = entries.get(name);
      if (!entry) return undefined;
      const before = counted.get(name) ?? 0;
      const bytes = unpack(archive, entry, left + before);
      left -= bytes.length - before;
      counted.set(name, bytes.length);
      // A changed byte often unpacks to another number.
      if (crc32(bytes) !== entry.checksum)
        throw new ZipError('is damaged: the checksum of a file in it is wrong; get it again');
      return bytes;
    },
  };
}

interface Entry {
  method: number;
  /** CRC-32 of the unpacked file. */
  checksum: number;
  packedBytes: number;
  headAt: number;
}

function readDirectory(archive: Buffer): Map<string, Entry> {
  const endAt = findEnd(archive);
  const count = archive.readUInt16LE(endAt + 10);
  let at = archive.readUInt32LE(endAt + 16);
  if (at === LARGE_32) throw new ZipError('is a ZIP64 archive, which is not read here');
  const entries = new Map<string, Entry>();
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > archive.length || archive.readUInt32LE(at) !== signatures.entry)
      throw new ZipError('is damaged: its directory is wrong');
    if (archive.readUInt16LE(at + 8) & 1)
      throw new ZipError('is protected by a password; save it without one');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) =>
      archive.readUInt16LE(at + field),
    ) as [number, number, number];
    const name = archive.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    entries.set(name, {
      method: archive.readUInt16LE(at + 10),
      checksum: archive.readUInt32LE(at + 16),
      packedBytes: archive.readUInt32LE(at + 20),
      headAt: archive.readUInt32LE(at + 42),
    });
    at += ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
  }
  return entries;
}

function findEnd(archive: Buffer): number {
  const first = Math.max(0, archive.length - END_BYTES - COMMENT_BYTES_MAX);
  for (let at = archive.length - END_BYTES; at >= first; at--)
    if (archive.readUInt32LE(at) === signatures.end) return at;
  throw new ZipError('is not a ZIP archive, or is cut off');
}

function unpack(archive: Buffer, { method, packedBytes, headAt }: Entry, bytesMax: number): Buffer {
  if (headAt + 30 > archive.length || archive.readUInt32LE(headAt) !== signatures.head)
    throw new ZipError('is damaged: a file is not where its directory says');
  const from = headAt + 30 + archive.readUInt16LE(headAt + 26) + archive.readUInt16LE(headAt + 28);
  const packed = archive.subarray(from, from + packedBytes);
  if (packed.length < packedBytes) throw new ZipError('is cut off');
  if (method === STORED && packed.length <= bytesMax) return packed;
  if (method !== STORED && method !== DEFLATED)
    throw new ZipError('is packed in a way that is not read here');
  try {
    if (method === STORED) throw new RangeError('too large');
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, bytesMax) });
  } catch (error) {
    const code = errorCode(error);
    throw new ZipError(
      error instanceof RangeError || code === 'ERR_BUFFER_TOO_LARGE'
        ? 'unpacks to more bytes than are allowed'
        : 'is damaged: a file cannot be unpacked',
    );
  }
}
