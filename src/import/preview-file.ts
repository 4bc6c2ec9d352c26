import { clearColumns, createColumns } from '../decode/columns-buffer.ts';
import { deviceText } from '../decode/device-words.ts';
import { instantAt, type MessageColumns, type NameTable } from '../decode/message-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import { formatInstant } from '../lib/time.ts';
import { createFieldStats, type FieldStats } from './field-stats.ts';
import type { FileCounts } from './import-ledger.ts';
import { type OpenImportOptions, openImport } from './open-import.ts';
import type { RejectedRow } from './rejections.ts';

/** A row as it would land. */
interface PreviewRow {
  time: string;
  device: string;
  source: string | null;
  fields: Record<string, unknown>;
}

export interface Preview {
  rows: PreviewRow[];
  counts: FileCounts;
  examples: RejectedRow[];
  firstTime: string | undefined;
  lastTime: string | undefined;
  /** Statistics of each field. */
  fields: FieldStats[];
}

const ROWS_MAX = 5;

/**
 * Reads a file like an import, and lands nothing.
 * @param options.rowsMax the approximate number of rows to read. Default: all
 */
export async function previewFile(
  options: Omit<OpenImportOptions, 'names' | 'baseOffset'> & { rowsMax?: number },
  signal: AbortSignal,
): Promise<Preview> {
  const { rowsMax = Number.POSITIVE_INFINITY, workgroup } = options;
  const names = createNameTable();
  const opened = await openImport({ ...options, names, baseOffset: 0n });
  try {
    const columns = createColumns();
    const rows: PreviewRow[] = [];
    const stats = createFieldStats(workgroup.timezone);
    let rowsRead = 0;
    let rowsLanded = 0;
    let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for await (const chunk of opened.chunks()) {
      signal.throwIfAborted();
      clearColumns(columns);
      opened.filler.fill(columns, chunk, rowsRead);
      opened.rejections.take();
      rowsRead += chunk.rowCount;
      rowsLanded += columns.count;
      stats.add(columns, names);
      for (let row = 0; row < columns.count; row++) {
        const ms = instantAt(columns.eventTime, row);
        firstMs = Math.min(firstMs, ms);
        lastMs = Math.max(lastMs, ms);
        if (rows.length < ROWS_MAX) rows.push(rowOf(columns, row, names));
      }
      if (rowsRead >= rowsMax) break;
    }
    // Broken lines are known at the end of the file.
    if (rowsRead < rowsMax) await opened.rejectBrokenLines();
    const { rejections } = opened;
    return {
      rows,
      counts: { rowsRead, rowsLanded, rowsRejected: rejections.count, rejected: rejections.counts() },
      examples: rejections.examples(),
      firstTime: rowsLanded > 0 ? formatInstant(firstMs) : undefined,
      lastTime: rowsLanded > 0 ? formatInstant(lastMs) : undefined,
      fields: stats.stats(),
    };
  } finally {
    opened.close();
  }
}

function rowOf(columns: MessageColumns, row: number, names: NameTable): PreviewRow {
  const fields: Record<string, unknown> = {};
  for (let at = columns.fieldStart[row]!; at < columns.fieldStart[row + 1]!; at++) {
    fields[names.nameOf(columns.fieldId[at]!)] = columns.number[at]!;
  }
  const sourceId = columns.source[row]!;
  return {
    time: formatInstant(instantAt(columns.eventTime, row)),
    device: deviceText(columns.device, row * 4),
    source: sourceId < 0 ? null : names.nameOf(sourceId),
    fields: { ...fields, ...JSON.parse(columns.other.get(row) ?? '{}') },
  };
}
