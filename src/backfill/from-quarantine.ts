import type { DuckDBBlobValue } from '@duckdb/node-api';
import { decodeCbor, MalformedError } from '../cbor/cbor-codec.ts';
import { keepNew } from '../client/keep-new.ts';
import { instantAt } from '../client/locate-new-messages.ts';
import { createColumns, offsetAfter } from '../decode/columns-buffer.ts';
import type { MessageColumns, NameTable } from '../decode/message-columns.ts';
import { appendMessage } from '../decode/messages-to-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import { TransientError } from '../lib/errors.ts';
import { parseJsonExact } from '../lib/json-text.ts';
import type { Clock } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import type { ArchiveRequest } from './backfill-request.ts';
import { withoutLanded } from './without-landed.ts';

export interface QuarantineOptions {
  lakeDir: string;
  /** The table of messages that name none. */
  defaultTable: string | undefined;
  clock: Clock;
}

/** Messages that are decoded at a time, of any size. */
const ROWS_MAX = 500;

/** How many messages of the stream lie in quarantine, and how many of them can be decoded now. */
export async function countQuarantined(
  shard: Shard,
  request: ArchiveRequest,
  { defaultTable }: QuarantineOptions,
): Promise<{ kept: number; readable: number }> {
  const found = { kept: 0, readable: 0 };
  for await (const rows of pages(shard)) {
    found.kept += rows.length;
    found.readable += decode(rows, request, { names: createNameTable(), defaultTable }).keys.length;
  }
  return found;
}

/**
 * Decodes again what lay in quarantine as it came, and lands what is a message now: this version reads more, or the configuration
 * says the table of messages that name none. What has landed leaves the quarantine; a crash between the two lands nothing twice.
 */
export async function landQuarantined(
  shard: Shard,
  backfillId: number,
  request: ArchiveRequest,
  options: QuarantineOptions & { signal: AbortSignal; onLanded(read: number, landed: number): void },
): Promise<void> {
  for await (const rows of pages(shard)) {
    // Offsets of two logs cannot be compared.
    for (const ofLog of Map.groupBy(rows, ({ log_epoch }) => log_epoch).values()) {
      options.signal.throwIfAborted();
      const { columns, keys } = decode(ofLog, request, { ...options, names: shard.names });
      if (keys.length === 0) continue;
      const landed = await landNew(shard, backfillId, columns, ofLog[0]!.log_epoch ?? undefined, options);
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
    const rows = await shard.transaction((connection) =>
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

/** Those that are messages now and were asked for: as columns, and beside each what names it in the quarantine. */
function decode(
  rows: readonly QuarantinedRow[],
  { fromMs, toMs = Number.POSITIVE_INFINITY, table }: ArchiveRequest,
  { names, defaultTable }: { names: NameTable; defaultTable: string | undefined },
): { columns: MessageColumns; keys: Key[] } {
  const columns = createColumns(rows.length);
  const found: Key[] = [];
  for (const row of rows) {
    const value = plainValue(row.bytes.bytes);
    if (value === undefined) continue;
    const before = columns.count;
    appendMessage(columns, names, value, undefined, defaultTable);
    if (columns.count > before) found.push(row);
  }
  columns.rejected = [];
  const tableId = table === undefined ? undefined : names.idOf(table);
  const wanted = [...found.keys()].filter((row) => {
    const eventMs = instantAt(columns.eventTime, row);
    return eventMs >= fromMs && eventMs < toMs && (tableId === undefined || columns.table[row] === tableId);
  });
  keepRows(columns, wanted);
  return { columns, keys: wanted.map((row) => found[row]!) };
}

/** A message as it came: an item of CBOR, or JSON text; undefined where it is neither. */
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

/** @returns how many were not there yet */
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
  const [last] = await shard.transaction((connection) =>
    query<{ batch_id: bigint }>(connection, 'land/find_last_batch'),
  );
  const result = await shard.land({
    // A position of its own for each, because they are in no order.
    origin: `backfill:${backfillId}:quarantine:${last!.batch_id}`,
    columns,
    fromOffset: undefined,
    nextOffset: offsetAfter(columns)!,
    logEpoch,
  });
  if (result.kind === 'landed') return result.messages;
  throw new TransientError(
    'OutOfStep',
    'the warehouse stands elsewhere than the backfill; run it again to go on',
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
