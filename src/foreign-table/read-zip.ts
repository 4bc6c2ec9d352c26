import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise } from 'yauzl';
import { errorMessage } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';

/** The files of a ZIP archive. */
export interface ZipArchive {
  /** The unpacked file. Undefined if the archive has no such file. @throws ZipError */
  read(name: string): Promise<Buffer | undefined>;
}

/** The archive cannot be read. The message is for people. */
export class ZipError extends Error {}

/** Files in an archive. Without ZIP64 it cannot have more. A workbook has some tens. */
const ENTRIES_MAX = 65_535;

/**
 * Opens a ZIP archive.
 * @param bytesMax the most unpacked bytes of all files that are read, because a small archive can unpack to a
 *   very large one
 * @throws ZipError if it is not a ZIP archive
 */
export async function openZip(archive: Buffer, bytesMax: number): Promise<ZipArchive> {
  // Without `decodeStrings`, the library does not refuse names that are not safe to write to a disk.
  const options = { lazyEntries: true, decodeStrings: false };
  const zip = await fromBufferPromise(archive, options).catch(() => {
    throw new ZipError('is not a ZIP archive, or is cut off');
  });
  if (zip.entryCount > ENTRIES_MAX) throw new ZipError(`has more than ${formatCount(ENTRIES_MAX)} files`);
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) entries.set(entry.fileNameRaw.toString(), entry);
  } catch (error) {
    throw damagedError(error);
  }
  let left = bytesMax;
  /** A file that is read again is counted once. */
  const counted = new Set<Entry>();
  return {
    async read(name) {
      const entry = entries.get(name);
      if (!entry) return undefined;
      if (entry.isEncrypted()) throw new ZipError('is protected by a password; save it without one');
      if (!counted.has(entry)) left -= entry.uncompressedSize;
      counted.add(entry);
      if (left < 0) throw new ZipError('unpacks to more bytes than are allowed');
      const bytes = Buffer.allocUnsafe(entry.uncompressedSize);
      let at = 0;
      try {
        // The library checks that there are as many bytes as the directory says.
        for await (const part of await zip.openReadStreamPromise(entry)) at += part.copy(bytes, at);
      } catch (error) {
        throw damagedError(error);
      }
      // A changed byte often unpacks to another number.
      if (crc32(bytes) !== entry.crc32)
        throw new ZipError('is damaged: the checksum of a file in it is wrong; get it again');
      return bytes;
    },
  };
}

function damagedError(error: unknown): ZipError {
  return new ZipError(`is damaged: ${errorMessage(error)}`);
}
