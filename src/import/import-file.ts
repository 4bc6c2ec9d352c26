import { statSync } from 'node:fs';
import { sha256Hex } from '../lib/durable-files.ts';
import { cannotBeRead, errorMessage, InputError, isRetryable, TerminalError } from '../lib/errors.ts';
import type { Shard } from '../warehouse/shard.ts';
import { hashAndCheckFile } from './hash-and-check-file.ts';
import { beginFile, type FileCounts, finishFile, giveUpFile, type ImportEntry } from './import-ledger.ts';
import {
  type ImportOptions,
  type ImportProgress,
  type ImportRequest,
  shownPathOf,
} from './import-request.ts';
import { landRows } from './land-rows.ts';
import { fileProblem } from './open-reader.ts';
import type { RejectedRow } from './rejections.ts';

export type ImportOutcome =
  | {
      kind: 'landed';
      importId: number;
      counts: FileCounts;
      examples: RejectedRow[];
      lastBatchId: number;
      resumed: boolean;
    }
  /** The same file was already imported with the same mapping. Nothing was done. */
  | {
      kind: 'landed-before';
      importId: number;
      counts: FileCounts;
      lastBatchId: number;
      landedAtMs: number;
    }
  /** No row could be used. Nothing has landed. */
  | { kind: 'nothing-usable'; counts: FileCounts; examples: RejectedRow[] };

/**
 * Lands each row of a file exactly once. Later stages see the batches only after the last one is durable.
 * After a crash, or after `signal` has aborted, the next call continues.
 * @throws InputError if the file does not fit the mapping; nothing of it is kept
 * @throws TransientError if the warehouse cannot be written now; landed rows are kept
 */
export async function importFile(
  shard: Shard,
  request: ImportRequest,
  options: ImportOptions,
): Promise<ImportOutcome> {
  const { clock, logger, signal } = options;
  const startMs = performance.now();
  const before = fileState(request.path);
  const progress = {
    phase: 'checking' as ImportProgress['phase'],
    fileBytes: before.bytes,
    bytesChecked: 0,
    rowsRead: 0,
    rowsLanded: 0,
    rowsRejected: 0,
    rowsExpected: undefined,
  };
  options.onProgress(progress);
  const hash = await hashAndCheckFile(request.path, {
    signal,
    onBytes(bytes) {
      progress.bytesChecked += bytes;
      options.onProgress(progress);
    },
  });
  const file = {
    path: shownPathOf(request),
    table: request.table,
    bytes: before.bytes,
    contentHash: hash,
    mappingHash: mappingHash(request, options.workgroup),
  };
  const begun = await beginFile(shard, file, clock);
  if (begun.kind === 'landed-before') return begun;
  const { entry } = begun;
  progress.phase = 'landing';
  try {
    const { counts, examples } = await landRows(shard, entry, request, {
      ...options,
      onProgress: (now) => options.onProgress({ ...progress, ...now }),
    });
    if (fileState(request.path).version !== before.version) {
      throw new TerminalError(
        'FileChanged',
        `${shownPathOf(request)} was changed while it was read; import it again once it is complete`,
      );
    }
    if (counts.rowsLanded === 0) {
      await giveUpFile(shard, entry, clock);
      return { kind: 'nothing-usable', counts, examples };
    }
    const lastBatchId = await finishFile(shard, entry, hash, clock);
    const durationMs = Math.round(performance.now() - startMs);
    logger.info(
      {
        workgroup: shard.workgroupId,
        importId: entry.importId,
        rows: counts.rowsLanded,
        rejected: counts.rowsRejected,
        durationMs,
      },
      'import.landed',
    );
    const { importId, isResumed: resumed } = entry;
    return { kind: 'landed', importId, counts, examples, lastBatchId, resumed };
  } catch (error) {
    // After a temporary error the landed rows are kept for the next attempt.
    if (!signal.aborted && !isRetryable(error)) await giveUpQuietly(shard, entry, options);
    throw error;
  }
}

/** Gives up a file, and only logs a failure: the next import then removes the rows that remain. */
async function giveUpQuietly(
  shard: Shard,
  entry: ImportEntry,
  { clock, logger }: ImportOptions,
): Promise<void> {
  await giveUpFile(shard, entry, clock).catch((error: unknown) =>
    logger.warn({ importId: entry.importId, error: errorMessage(error) }, 'import.not-given-up'),
  );
}

/** @throws InputError if the file does not exist */
function fileState(path: string): { bytes: number; version: string } {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw fileProblem(path, 'is not a file');
    // Programs that copy files set the time of modification, but not the time of change.
    return { bytes: stat.size, version: `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}` };
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw fileProblem(path, cannotBeRead(error));
  }
}

/** A hash of everything in mapping and configuration that determines the messages of a row. */
function mappingHash(
  { table, mapping }: ImportRequest,
  { id, timezone, devices }: ImportOptions['workgroup'],
): string {
  const names = devices.flatMap(({ id: device, name }) => (name === undefined ? [] : [[name, device]]));
  const zone = mapping.time.zone ?? timezone;
  return sha256Hex(JSON.stringify({ id, table, mapping, zone, names }));
}
