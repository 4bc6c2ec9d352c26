import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { errorMessage, InputError, isRetryable, TerminalError } from '../lib/errors.ts';
import type { Shard } from '../warehouse/shard.ts';
import { contentHash } from './content-hash.ts';
import { beginFile, type FileCounts, finishFile, giveUpFile, type ImportEntry } from './import-ledger.ts';
import type { ImportOptions, ImportProgress, ImportRequest } from './import-request.ts';
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
  /** The same file was imported in the same way before: nothing was done. */
  | {
      kind: 'landed-before';
      importId: number;
      counts: FileCounts;
      lastBatchId: number;
      landedAtMs: number;
    }
  /** Not one of its rows could be used: nothing has landed. */
  | { kind: 'nothing-usable'; counts: FileCounts; examples: RejectedRow[] };

/**
 * Lands a file: every row exactly once, in batches that no later stage sees before the last of them is durable. After a crash, or
 * once `signal` has aborted, the next call goes on where this one was.
 * @throws InputError where the file cannot be read as the mapping says; nothing of it is left then
 * @throws TransientError where the warehouse cannot be written now; what has landed is gone on with
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
  const hash = await contentHash(request.path, {
    signal,
    onBytes(bytes) {
      progress.bytesChecked += bytes;
      options.onProgress(progress);
    },
  });
  const file = {
    path: request.path,
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
    if (fileState(request.path).changedAtMs !== before.changedAtMs) {
      throw new TerminalError(
        'FileChanged',
        `${request.path} was changed while it was read; import it again once it is complete`,
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
        shard: shard.workgroupId,
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
    // What may go better another time is kept for it.
    if (!signal.aborted && !isRetryable(error)) await giveUpQuietly(shard, entry, options);
    throw error;
  }
}

/** What is left is given up when the next file begins. */
async function giveUpQuietly(
  shard: Shard,
  entry: ImportEntry,
  { clock, logger }: ImportOptions,
): Promise<void> {
  await giveUpFile(shard, entry, clock).catch((error: unknown) =>
    logger.warn({ importId: entry.importId, error: errorMessage(error) }, 'import.not-given-up'),
  );
}

/** @throws InputError where there is no such file */
function fileState(path: string): { bytes: number; changedAtMs: number } {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw fileProblem(path, 'is no file');
    return { bytes: stat.size, changedAtMs: stat.mtimeMs };
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw fileProblem(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** What of the mapping and the configuration decides which messages a file's rows become. */
function mappingHash(
  { table, mapping }: ImportRequest,
  { id, timezone, devices }: ImportOptions['workgroup'],
): string {
  const names = devices.flatMap(({ id: device, name }) => (name === undefined ? [] : [[name, device]]));
  const zone = mapping.time.zone ?? timezone;
  return createHash('sha256').update(JSON.stringify({ id, table, mapping, zone, names })).digest('hex');
}
