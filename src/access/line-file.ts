import { appendFileSync, closeSync, fstatSync, fsyncSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../lib/durable-files.ts';
import { tryParseJson } from '../lib/json-text.ts';

/**
 * A file of JSON lines. Several processes append to it and none rewrites it. A line that a crash cut off is
 * skipped, because it was never acknowledged.
 */
interface LineFile<Line> {
  /** Appends one line durably. */
  append(line: Line): void;
  /**
   * Reads the lines that any process has appended since the last call. Costs one `stat` if there are none.
   */
  refresh(): void;
}

/**
 * @param handlers `take` is called with each line in order. If the file was replaced, `reset` is called
 *   first, and then `take` with all lines
 */
export function openLineFile<Line>(
  path: string,
  parse: (value: unknown) => Line | undefined,
  handlers: { take(line: Line): void; reset(): void },
): LineFile<Line> {
  let inode: number | undefined;
  let position = 0;

  const refresh = () => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && stat.ino === inode && stat.size === position) return;
    if (stat === undefined || stat.ino !== inode || stat.size < position) {
      if (inode !== undefined) handlers.reset();
      inode = stat?.ino;
      position = 0;
    }
    if (stat === undefined) return;
    const bytes = readFrom(path, position, stat.size - position);
    const end = bytes.lastIndexOf(0x0a) + 1;
    position += end;
    for (const text of bytes.toString('utf8', 0, end).split('\n')) {
      const line = text === '' ? undefined : parse(tryParseJson(text));
      if (line !== undefined) handlers.take(line);
    }
  };

  return {
    refresh,
    append(line) {
      const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
      const file = openSync(path, 'a+', 0o600);
      try {
        const separator = endsWithinLine(file) ? '\n' : '';
        appendFileSync(file, `${separator}${JSON.stringify(line)}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      if (isNew) syncFolder(dirname(path));
      refresh();
    },
  };
}

function readFrom(path: string, position: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    const read = readSync(file, bytes, 0, length, position);
    return bytes.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

function endsWithinLine(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}
