import type { DuckDBBlobValue } from '@duckdb/node-api';
import { decodeCbor, MalformedError } from '../cbor/cbor-codec.ts';
import { keepNew } from '../client/keep-new.ts';
import { appendMessage } from '../decode/append-message.ts';
import { createColumns, offsetAfter } from '../decode/columns-buffer.ts';
import { instantAt, type MessageColumns, type NameTable } from '../decode/message-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import { TransientError } from '../lib/errors.ts';
import { parseJsonExact } from '../lib/json-text.ts';
import type { Clock } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import type { ArchiveRequest, BackfillPlan } from './backfill-request.ts';
import { withoutLanded } from './skip-landed.ts';

export interface QuarantineOptions {
  lakeDir: string;
  /** The table of messages without a table. */
  defaultTable: string | undefined;
  clock: Clock;
}

/** The messages of a period and a table. */
type MessageFilter = Pick<ArchiveRequest, 'fromMs' | 'toMs' | 'table'>;

export const everyMessage: MessageFilter = { fromMs: 0 };

/** Plans reading quarantined messages of any time again. */
export async function planQuarantine(shard: Shard, options: QuarantineOptions): Promise<BackfillPlan> {
  const quarantined = await countQuarantined(shard, everyMessage, options);
  const { readable } = quarantined;
  return {
    source: 'quarantine',
    pieces: [],
    requests: 0,
    days: [],
    messages: readable,
    quarantined,
    notes: readable === 0 ? ['no quarantined message can be decoded now'] : [],
    unfillable: [],
  };
}

/** Messages of any size that are decoded at a time. */
const ROWS_MAX = 500;

/** Counts the quarantined messages of the stream, and how many of them can be decoded now. */
export async function countQuarantined(
  shard: Shard,
  request: MessageFilter,
  { defaultTable }: QuarantineOptions,
): Promise<{ kept: number; readable: number }> {
  const counts = { kept: 0, readable: 0 };
  for await (const rows of pages(shard)) {
    counts.kept += rows.length;
    counts.readable += decode(rows, request, { names: createNameTable(), defaultTable }).keys.length;
  }
  return counts;
}

/**
 * Decodes quarantined messages again, and lands the readable ones. A newer version may read more, or the
 * configuration may now name the table of messages without one. Landed messages leave the quarantine. After a
 * crash between these steps nothing lands twice.
 */
export async function landQuarantined(
  shard: Shard,
  backfillId: number,
  request: MessageFilter,
  options: QuarantineOptions & { signal: AbortSignal; onLanded(read: number, landed: number): void },
): Promise<void> {
  for await (const rows of pages(shard)) {
    // Offsets of two logs cannot be compared.
    for (const logRows of Map.groupBy(rows, ({ log_epoch }) => log_epoch).values()) {
      options.signal.throwIfAborted();
      const { columns, keys } = decode(logRows, request, { ...options, names: shard.names });
      if (keys.length === 0) continue;
      const landed = await landNew(shard, backfillId, columns, logRows[0]!.log_epoch ?? undefined, options);
      await release(shard, backfillId, keys, options.clock);
      options.onLanded(keys.length, landed);
    }
  }
}

interface QuarantinedRow {
  batch_id: bigint;
  key: string;
  bytes: DuckDBBlobValue;
  log_epoch: string | null;
}
type Key = Pick<QuarantinedRow, 'batch_id' | 'key'>;

async function* pages(shard: Shard): AsyncGenerator<QuarantinedRow[]> {
  for (let last: Key = { batch_id: -1n, key: '' }; ; ) {
    const { batch_id, key } = last;
    const rows = await shard.read((connection) =>
      query<QuarantinedRow & Record<string, never>>(connection, 'backfill/find_quarantined_messages', {
        after_batch_id: batch_id,
        after_key: key,
        rows_max: ROWS_MAX,
      }),
    );
    if (rows.length > 0) yield rows;
    if (rows.length < ROWS_MAX) return;
    last = rows.at(-1)!;
  }
}

/** The requested messages that can be decoded: as columns, with their keys in the quarantine. */
function decode(
  rows: readonly QuarantinedRow[],
  { fromMs, toMs = Number.POSITIVE_INFINITY, table }: MessageFilter,
  { names, defaultTable }: { names: NameTable; defaultTable: string | undefined },
): { columns: MessageColumns; keys: Key[] } {
  const columns = createColumns(rows.length);
  const readable: Key[] = [];
  for (const row of rows) {
    const value = plainValue(row.bytes.bytes);
    if (value === undefined) continue;
    const before = columns.count;
    appendMessage(columns, names, value, undefined, defaultTable);
    if (columns.count > before) readable.push(row);
  }
  columns.rejected = [];
  const tableId = table === undefined ? undefined : names.idOf(table);
  const rowsInRange = [...readable.keys()].filter((row) => {
    const eventMs = instantAt(columns.eventTime, row);
    return eventMs >= fromMs && eventMs < toMs && (tableId === undefined || columns.table[row] === tableId);
  });
  keepRows(columns, rowsInRange);
  return { columns, keys: rowsInRange.map((row) => readable[row]!) };
}

/** Decodes a message: an item of CBOR, or JSON text. Undefined if it is neither. */
function plainValue(bytes: Uint8Array): unknown {
  try {
    const isJson = bytes[0] === 0x7b;
    return isJson
      ? parseJsonExact(Buffer.from(bytes).toString())
      : decodeCbor(new Uint8Array(bytes), { plainTags: true });
  } catch (error) {
    if (error instanceof MalformedError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @returns the number of new messages */
async function landNew(
  shard: Shard,
  backfillId: number,
  columns: MessageColumns,
  logEpoch: string | undefined,
  { lakeDir }: QuarantineOptions,
): Promise<number> {
  const rows = Array.from({ length: columns.count }, (_, row) => row);
  keepRows(columns, await withoutLanded(shard, lakeDir, { columns, rows, logEpoch }));
  if (columns.count === 0) return 0;
  const [last] = await shard.read((connection) =>
    query<{ batch_id: bigint }>(connection, 'land/find_last_batch'),
  );
  const result = await shard.land({
    // Each message has its own position, because they have no order.
    origin: `backfill:${backfillId}:quarantine:${last!.batch_id}`,
    columns,
    fromOffset: undefined,
    nextOffset: offsetAfter(columns)!,
    logEpoch,
  });
  if (result.kind === 'landed') return result.messages;
  throw new TransientError(
    'OutOfStep',
    'the warehouse and the backfill are at different positions; run the backfill again to continue',
  );
}

function keepRows(columns: MessageColumns, rows: readonly number[]): void {
  keepNew(columns, { rows: Uint32Array.from(rows), afterOffset: undefined, throughOffset: undefined });
}

async function release(
  shard: Shard,
  backfillId: number,
  released: readonly Key[],
  clock: Clock,
): Promise<void> {
  await shard.transaction(async (connection) => {
    for (const [batch_id, keys] of Map.groupBy(released, (one) => one.batch_id)) {
      await query(connection, 'backfill/release_quarantined', { batch_id, keys: keys.map(({ key }) => key) });
    }
    await query(connection, 'backfill/mark_quarantine_dirty');
    await query(connection, 'backfill/forget_positions', { backfill_id: backfillId });
    await query(connection, 'backfill/touch_backfill', { backfill_id: backfillId, now_ms: clock.now() });
  });
}
