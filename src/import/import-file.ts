import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { WorkgroupConfig } from '../config.ts';
import type { MessageColumns } from '../contract/columns.ts';
import { clearColumns, createColumns } from '../contract/columns-buffer.ts';
import { errorMessage, InputError, isRetryable, TerminalError, TransientError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time.ts';
import type { LandInput } from '../warehouse/plan.ts';
import type { Shard } from '../warehouse/shard.ts';
import { contentHash } from './content-hash.ts';
import {
  advanceFile,
  beginFile,
  type FileCounts,
  finishFile,
  giveUpFile,
  type ImportEntry,
} from './ledger.ts';
import type { Mapping } from './mapping.ts';
import { type OpenImport, openImport } from './open-import.ts';
import { fileProblem } from './reader.ts';
import type { RejectedRow } from './rejections.ts';

/** What is to be imported. */
export interface ImportRequest {
  /** Absolute. */
  path: string;
  table: string;
  mapping: Mapping;
}

export type ImportOutcome =
  | { kind: 'landed'; counts: FileCounts; examples: RejectedRow[]; lastBatchId: number; resumed: boolean }
  /** The same file was imported in the same way before: nothing was done. */
  | { kind: 'landed-before'; counts: FileCounts; lastBatchId: number; landedAtMs: number }
  /** Not one of its rows could be used: nothing has landed. */
  | { kind: 'nothing-usable'; counts: FileCounts; examples: RejectedRow[] };

export interface ImportProgress {
  phase: 'checking' | 'landing';
  fileBytes: number;
  bytesChecked: number;
  rowsRead: number;
  rowsLanded: number;
  rowsRejected: number;
  /** How many rows there are, as far as that can be told beforehand. */
  rowsExpected: number | undefined;
}

export interface ImportOptions {
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone'>;
  threads: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  /** Rows of one batch, if other than usual. */
  batchRows?: number;
}

/** Rows of one batch: enough that a transaction costs little beside them. At least those of one chunk. */
const BATCH_ROWS = 40_960;
/** Batches of a file that are being written while the next is read. */
const IN_FLIGHT_MAX = 2;

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
  const { clock, log, signal } = options;
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
    log.info(
      {
        shard: shard.workgroupId,
        importId: entry.importId,
        rows: counts.rowsLanded,
        rejected: counts.rowsRejected,
        durationMs,
      },
      'import.landed',
    );
    return { kind: 'landed', counts, examples, lastBatchId, resumed: entry.isResumed };
  } catch (error) {
    // What may go better another time is kept for it.
    if (!signal.aborted && !isRetryable(error)) await giveUpQuietly(shard, entry, options);
    throw error;
  }
}

/** What is left is given up when the next file begins. */
async function giveUpQuietly(shard: Shard, entry: ImportEntry, { clock, log }: ImportOptions): Promise<void> {
  await giveUpFile(shard, entry, clock).catch((error: unknown) =>
    log.warn({ importId: entry.importId, error: errorMessage(error) }, 'import.not-given-up'),
  );
}

async function landRows(
  shard: Shard,
  entry: ImportEntry,
  request: ImportRequest,
  options: Omit<ImportOptions, 'onProgress'> & {
    onProgress: (counts: FileCounts & { rowsExpected: number | undefined }) => void;
  },
): Promise<{ counts: FileCounts; examples: RejectedRow[] }> {
  const opened = await openImport({
    ...request,
    ...options,
    names: shard.names,
    baseOffset: entry.baseOffset,
    storeTimeMs: options.clock.now(),
  });
  const { batchRows = BATCH_ROWS } = options;
  const landing: Promise<void>[] = [];
  try {
    const counts = { rowsRead: 0, rowsLanded: 0 };
    const buffers = Array.from({ length: IN_FLIGHT_MAX + 1 }, () => createColumns(batchRows));
    let batch = 0;
    const land = async (columns: MessageColumns, fromRow: number, toRow: number) => {
      columns.rejected = opened.rejections.take();
      counts.rowsLanded += columns.count;
      const now = countsOf(counts, opened);
      const landed = landBatch(shard, entry, {
        batch,
        columns,
        fromRow,
        toRow,
        counts: now,
        clock: options.clock,
      });
      // A failure is met where it is waited for.
      landed.catch(() => undefined);
      landing.push(landed);
      batch += 1;
      options.onProgress({ ...now, rowsExpected: opened.rowsExpected });
      if (landing.length > IN_FLIGHT_MAX) await landing.shift();
    };

    let columns = emptied(buffers[0]!);
    let fromRow = 0;
    let rowsOfBatch = 0;
    for await (const chunk of opened.chunks()) {
      options.signal.throwIfAborted();
      opened.filler.fill(columns, chunk, counts.rowsRead);
      counts.rowsRead += chunk.rowCount;
      rowsOfBatch += chunk.rowCount;
      if (rowsOfBatch < batchRows) continue;
      await land(columns, fromRow, counts.rowsRead);
      columns = emptied(buffers[batch % buffers.length]!);
      fromRow = counts.rowsRead;
      rowsOfBatch = 0;
    }
    await opened.rejectBrokenLines();
    // A place of its own for the lines that have none, so that they land once.
    await land(columns, fromRow, counts.rowsRead + 1);
    await Promise.all(landing);
    return { counts: countsOf(counts, opened), examples: opened.rejections.examples() };
  } finally {
    await Promise.allSettled(landing);
    opened.close();
  }
}

function emptied(columns: MessageColumns): MessageColumns {
  clearColumns(columns);
  return columns;
}

function countsOf(counts: { rowsRead: number; rowsLanded: number }, { rejections }: OpenImport): FileCounts {
  return { ...counts, rowsRejected: rejections.count, rejected: rejections.counts() };
}

interface FileBatch {
  batch: number;
  columns: MessageColumns;
  fromRow: number;
  toRow: number;
  counts: FileCounts;
  clock: Clock;
}

/** Lands a batch of a file, or passes it over where it has landed before. */
async function landBatch(
  shard: Shard,
  entry: ImportEntry,
  { batch, columns, fromRow, toRow, counts, clock }: FileBatch,
) {
  const input: LandInput = {
    origin: entry.origin,
    columns,
    fromOffset: entry.baseOffset + BigInt(fromRow),
    nextOffset: entry.baseOffset + BigInt(toRow),
    logEpoch: undefined,
    held: {
      batchId: entry.firstBatchId + batch,
      note: (connection) => advanceFile(connection, entry, counts, clock),
    },
  };
  const result = await shard.land(() => input);
  if (result.kind === 'out-of-step' || result.kind === 'recreated') {
    throw new TransientError(
      'OutOfStep',
      'the warehouse stands elsewhere than the import; run it again to go on',
    );
  }
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
