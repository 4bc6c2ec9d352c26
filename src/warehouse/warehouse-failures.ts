import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { describeProcess } from '../lib/process-facts.ts';

/**
 * Converts an error of DuckDB into one of our errors. It says what to do, and whether it helps to try again.
 */
export function warehouseFailure(error: unknown, path: string): TransientError | TerminalError {
  return (
    knownFailure(error, path) ??
    new TransientError('WarehouseFailure', `${path}: ${firstLine(errorMessage(error))}`, {
      cause: error,
      details: { path },
    })
  );
}

/**
 * Like `warehouseFailure`, but undefined for unknown failures, because they can be errors of the caller.
 * DuckDB distinguishes failures only by their text. No other code reads this text.
 */
export function knownFailure(error: unknown, path: string): TransientError | TerminalError | undefined {
  if (error instanceof TransientError || error instanceof TerminalError) return error;
  const text = errorMessage(error);
  const details = { path };
  const lock = /Could not set lock on file.*Conflicting lock is held in (.*?) ?\(PID (\d+)\)/s.exec(text);
  if (lock || text.includes('Could not set lock on file')) {
    const holder = lock ? describeProcess(Number(lock[2]), lock[1]) : 'another process';
    return new TransientError(
      'WarehouseLocked',
      `${path} is held by ${holder}; only one process at a time can have a warehouse open: stop that process, or wait until it ends`,
      { cause: error, details: { ...details, ...(lock && { holderPid: Number(lock[2]) }) } },
    );
  }
  if (isDiskFull(error) || text.includes('max_temp_directory_size')) {
    return diskFullError(path, error, 'free some space, then the work continues');
  }
  if (text.includes('not a valid DuckDB database file')) {
    return new TerminalError(
      'NotAWarehouse',
      `${path} is not a DuckDB file; move it away, or restore the right file from a copy`,
      { cause: error, details },
    );
  }
  if (/database file with version number|storage version|newer version of DuckDB/i.test(text)) {
    return new TerminalError(
      'WarehouseTooNew',
      `${path} was written by another version of DuckDB than the one in this Wattline; upgrade Wattline`,
      { cause: error, details },
    );
  }
  if (/Permission denied|Operation not permitted|Read-only file system/.test(text)) {
    const file = /\bfile "([^"]+)"/.exec(text)?.[1] ?? path;
    return new TerminalError(
      'WarehouseNotWritable',
      `${file} cannot be written; give this user the permissions for the file and its folder`,
      { cause: error, details },
    );
  }
  if (/Out of Memory/i.test(text)) {
    return new TransientError(
      'WarehouseOutOfMemory',
      `${path}: DuckDB reached its memory limit; raise pipeline.warehouseMemoryMegabytes if this repeats`,
      { cause: error, details },
    );
  }
  if (/checksum|Corrupt|deserializ|Serialization Error|Could not read enough bytes/i.test(text)) {
    return new TerminalError(
      'WarehouseCorrupt',
      `${path} is damaged: ${firstLine(text)}; stop the service and run "wattline restore --force", which takes the last snapshot in the lake, or name a backup`,
      { cause: error, details },
    );
  }
  return undefined;
}

/**
 * True if DuckDB has invalidated the open database, for example after a failed checkpoint. It must be closed
 * and opened again.
 */
export function isInvalidated(error: unknown): boolean {
  return /^FATAL Error|database has been invalidated/.test(errorMessage(error));
}

/**
 * True if DuckDB does not understand the statement. This is a fault of the program, so a retry does not help.
 */
export function isWrongStatement(error: unknown): boolean {
  return /^(Parser|Binder|Catalog) Error/.test(errorMessage(error));
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.slice(0, 300);
}
