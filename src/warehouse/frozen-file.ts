import type { FileHandle } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { TransientError } from '../lib/errors.ts';
import { createInTurn } from '../lib/in-turn.ts';
import { sqlString } from '../lib/sql-text.ts';

/**
 * A warehouse file that does not change while it is read. It contains everything that was committed before
 * the last checkpoint. Later commits are in the write-ahead log.
 */
export interface FrozenFile {
  bytes: number;
  /** Aborted when the warehouse is closed. */
  signal: AbortSignal;
  /**
   * Reads `target.length` bytes.
   * @throws TransientError if the file is shorter, or was closed or opened again meanwhile
   */
  read(target: Uint8Array, position: number): Promise<void>;
}

export interface FrozenReads {
  /** See `Shard.readFrozen`. */
  read<Result>(work: (file: FrozenFile) => Promise<Result>): Promise<Result>;
  /**
   * Makes a checkpoint and then runs `work`. Until `work` ends, no transaction writes and nobody reads the
   * file.
   */
  between<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Aborts the running call and waits for its end. */
  stop(reason: Error): Promise<void>;
}

interface FrozenReadsOptions {
  connect(): Promise<DuckDBConnection>;
  /** The descriptor that is open as long as DuckDB has the file open. */
  file(): FileHandle;
  /** The size of the write-ahead log at which DuckDB makes a checkpoint, such as `64MiB`. */
  walLimit: string;
  /** Runs `work` while no transaction writes. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** More than any write-ahead log, so that no commit makes a checkpoint. */
const NO_CHECKPOINT = '1TB';

/**
 * Reads the file of an open database. Until the next checkpoint, DuckDB changes no block of the file that the
 * last checkpoint uses. So during a read no checkpoint is made.
 */
export function createFrozenReads({ connect, file, walLimit, alone }: FrozenReadsOptions): FrozenReads {
  const stopping = new AbortController();
  const inTurn = createInTurn();

  async function read<Result>(work: (file: FrozenFile) => Promise<Result>): Promise<Result> {
    stopping.signal.throwIfAborted();
    try {
      await alone(async () => {
        await run(setWalLimit(NO_CHECKPOINT));
        await run('CHECKPOINT');
      });
      return await work(await frozenFile(file(), stopping.signal));
    } finally {
      await run(setWalLimit(walLimit));
    }
  }

  async function run(sql: string): Promise<void> {
    const connection = await connect();
    try {
      await connection.run(sql);
    } finally {
      connection.closeSync();
    }
  }

  return {
    read: (work) => inTurn(() => read(work)),
    between: (work) =>
      inTurn(() =>
        alone(async () => {
          stopping.signal.throwIfAborted();
          await run('CHECKPOINT');
          return work();
        }),
      ),
    async stop(reason) {
      stopping.abort(reason);
      await inTurn(async () => undefined);
    },
  };
}

function setWalLimit(size: string): string {
  return `SET GLOBAL wal_autocheckpoint = ${sqlString(size)}`;
}

async function frozenFile(file: FileHandle, signal: AbortSignal): Promise<FrozenFile> {
  const { size } = await file.stat();
  return {
    bytes: size,
    signal,
    async read(target, position) {
      for (let filled = 0; filled < target.length; ) {
        signal.throwIfAborted();
        const { bytesRead } = await file
          .read(target, filled, target.length - filled, position + filled)
          .catch((cause: unknown) => {
            throw interruptedError(cause);
          });
        if (bytesRead === 0) throw interruptedError(undefined);
        filled += bytesRead;
      }
    },
  };
}

function interruptedError(cause: unknown): TransientError {
  return new TransientError(
    'SnapshotInterrupted',
    'the warehouse was closed or opened again while it was read; try again',
    { cause },
  );
}
