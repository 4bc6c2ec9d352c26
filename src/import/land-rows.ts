import { clearColumns, createColumns } from '../decode/columns-buffer.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import { TransientError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import type { LandInput } from '../warehouse/plan-landing.ts';
import type { Shard } from '../warehouse/shard.ts';
import { advanceFile, type FileCounts, type ImportEntry } from './import-ledger.ts';
import type { ImportOptions, ImportRequest } from './import-request.ts';
import { type OpenImport, openImport } from './open-import.ts';
import type { RejectedRow } from './rejections.ts';

/**
 * Rows of one batch. They take much longer than the transaction itself, so larger batches would gain little.
 */
const BATCH_ROWS = 40_960;
/** Batches that are written while the next one is read. */
const IN_FLIGHT_MAX = 2;

/**
 * Lands the rows of a file in unlisted batches. Rows that have already landed are skipped.
 * @throws InputError if the file cannot be read to its end
 */
export async function landRows(
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
      // The error is thrown where the promise is awaited.
      landed.catch(() => undefined);
      landing.push(landed);
      batch += 1;
      options.onProgress({ ...now, rowsExpected: opened.rowsExpected });
      if (landing.length > IN_FLIGHT_MAX) await landing.shift();
    };

    let columns = clear(buffers[0]!);
    let fromRow = 0;
    let rowsOfBatch = 0;
    for await (const chunk of opened.chunks()) {
      options.signal.throwIfAborted();
      opened.filler.fill(columns, chunk, counts.rowsRead);
      counts.rowsRead += chunk.rowCount;
      rowsOfBatch += chunk.rowCount;
      if (rowsOfBatch < batchRows) continue;
      await land(columns, fromRow, counts.rowsRead);
      columns = clear(buffers[batch % buffers.length]!);
      fromRow = counts.rowsRead;
      rowsOfBatch = 0;
    }
    await opened.rejectBrokenLines();
    // The last batch ends one offset after the last row. This offset is for the broken lines, so that they
    // land only once.
    await land(columns, fromRow, counts.rowsRead + 1);
    await Promise.all(landing);
    return { counts: countsOf(counts, opened), examples: opened.rejections.examples() };
  } finally {
    await Promise.allSettled(landing);
    opened.close();
  }
}

function clear(columns: MessageColumns): MessageColumns {
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

/** Lands a batch of a file, or skips it if it has already landed. */
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
    unlisted: {
      batchId: entry.firstBatchId + batch,
      note: (connection) => advanceFile(connection, entry, counts, clock),
    },
  };
  const result = await shard.land(() => input);
  if (result.kind === 'out-of-step' || result.kind === 'recreated') {
    throw new TransientError(
      'OutOfStep',
      'the warehouse and the import are at different positions; run the import again to continue',
    );
  }
}
