import { DuckDBBlobValue, type DuckDBConnection } from '@duckdb/node-api';
import type { Offset } from '../contract/offset.ts';
import { instantAt, type MessageColumns, offsetAt, type RejectedMessage } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import { refuseMissing } from '../publish/is-lake-complete.ts';
import { readHead, storedFilePath } from '../publish/lake-commit.ts';
import { lakePaths } from '../publish/lake-layout.ts';
import { periodBounds } from '../publish/lake-period.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';

/** The rows of a batch to look for. */
interface SelectedMessages {
  columns: MessageColumns;
  rows: readonly number[];
  logEpoch: string | undefined;
}

/**
 * Finds rows that have not landed yet, in the warehouse or in the lake. Landed messages are known by offset
 * and event time, because a log that has lost its tail assigns offsets again.
 */
export async function withoutLanded(
  shard: Shard,
  lakeDir: string,
  wanted: SelectedMessages,
): Promise<number[]> {
  const { columns, rows } = wanted;
  if (rows.length === 0) return [];
  const landed = new Set<string>();
  const range = rangeOf(wanted);
  await shard.read(async (connection) => {
    const parameters = {
      low: range.low,
      high: range.high,
      offsets: rows.map((row) => offsetAt(columns, row)),
      log_epoch: wanted.logEpoch ?? null,
    };
    const note = (landedRows: Array<{ stream_offset: bigint; event_time_ms: bigint }>) => {
      for (const row of landedRows) landed.add(`${row.stream_offset} ${row.event_time_ms}`);
    };
    note(await query(connection, 'backfill/find_landed', parameters));
    const [trimmed] = await query<{ is_trimmed: boolean }>(connection, 'backfill/find_trimmed', {
      first_ms: range.firstMs,
      last_ms: range.lastMs,
    });
    // Messages that were deleted in the meantime are in the lake and are found here.
    if (!trimmed!.is_trimmed) return;
    const files = await lakeFiles(shard.workgroupId, lakeDir, range.firstMs, range.lastMs);
    if (files.length > 0)
      note(await query(connection, 'backfill/find_landed_in_lake', { ...parameters, files }));
  });
  return rows.filter((row) => !landed.has(`${offsetAt(columns, row)} ${instantAt(columns.eventTime, row)}`));
}

/** Finds undecodable messages that are not in quarantine yet. */
export async function withoutQuarantined(
  shard: Shard,
  rejected: readonly RejectedMessage[],
): Promise<RejectedMessage[]> {
  if (rejected.length === 0) return [];
  return shard.read(async (connection) => {
    const offsets = rejected.flatMap(({ offset }) => (offset === undefined ? [] : [offset]));
    const known = new Set<Offset>();
    if (offsets.length > 0) {
      const found = await query<{ stream_offset: bigint }>(connection, 'backfill/find_quarantined_offsets', {
        offsets,
      });
      for (const { stream_offset } of found) known.add(stream_offset);
    }
    const fresh: RejectedMessage[] = [];
    for (const message of rejected) {
      const isKnown =
        message.offset === undefined
          ? await isQuarantined(connection, message.bytes)
          : known.has(message.offset);
      if (!isKnown) fresh.push(message);
    }
    return fresh;
  });
}

async function isQuarantined(connection: DuckDBConnection, bytes: Uint8Array): Promise<boolean> {
  const [row] = await query<{ is_known: boolean }>(connection, 'backfill/find_quarantined_bytes', {
    bytes: new DuckDBBlobValue(bytes),
  });
  return row!.is_known;
}

/**
 * The files of the newest generation that can have messages with store times from `firstMs` to `lastMs`.
 * @throws TransientError `LakeIncomplete` if one of them is not on this disk yet
 */
export async function lakeFiles(
  workgroupId: string,
  lakeDir: string,
  firstMs: UtcMs,
  lastMs: UtcMs,
): Promise<string[]> {
  const paths = lakePaths(lakeDir, workgroupId);
  const head = await readHead(paths);
  if (!head) return [];
  const files = head.files.filter(({ dataset, period }) => {
    if (dataset !== 'messages' || period === '') return false;
    const { startMs, endMs } = periodBounds(period);
    return startMs <= lastMs && endMs > firstMs;
  });
  refuseMissing(paths, files);
  return files.map((file) => storedFilePath(paths, head, file));
}

function rangeOf({ columns, rows }: SelectedMessages) {
  let low = offsetAt(columns, rows[0]!);
  let high = low;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    const offset = offsetAt(columns, row);
    const storeMs = instantAt(columns.storeTime, row);
    if (offset < low) low = offset;
    if (offset > high) high = offset;
    if (storeMs < firstMs) firstMs = storeMs;
    if (storeMs > lastMs) lastMs = storeMs;
  }
  return { low, high, firstMs, lastMs };
}
