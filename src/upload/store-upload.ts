import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS, formatInstant, type UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import { type LineProblem, PROBLEMS_SHOWN_MAX } from './refusals.ts';
import type { Upload, UploadKind } from './upload-rows.ts';

/** The origin of rows. */
export interface UploadOrigin {
  /** The name of the file. */
  name: string;
  /** The person or token that uploads it. */
  actor: string;
  /** Stores the rows even if the same rows were already stored, so that they count again. */
  again: boolean;
}

export type StoreOutcome =
  | {
      kind: 'stored';
      uploadId: number;
      /** Rows of the upload, newly stored rows, and rows that were already known. */
      accepted: number;
      stored: number;
      unchanged: number;
      /** Rows of earlier uploads that no longer count. */
      replaced: number;
      /** The highest revision of its rows. */
      revision: number;
    }
  /** The same rows were already stored. Nothing was done. */
  | { kind: 'stored-before'; uploadId: number; accepted: number; revision: number; receivedAtMs: UtcMs }
  /** Nothing was stored. */
  | { kind: 'refused'; problems: LineProblem[]; count: number };

/** Rows that are sent to the database at a time, because larger JSON takes much memory. */
const SLICE_ROWS = 20_000;

/** The statements of each kind: find the current rows, and replace them. */
const statements = {
  meter_intervals: { current: 'upload/collect_current_intervals', replace: 'upload/replace_readings' },
  meter_registers: { current: 'upload/collect_current_registers', replace: 'upload/replace_registers' },
  budget: { current: 'upload/collect_current_budgets', replace: 'upload/replace_budgets' },
} as const satisfies Record<UploadKind, object>;

/**
 * Stores a whole upload in one transaction. Changed values count from now on. The replaced rows are kept and
 * marked. An upload that would cut a row in two is refused.
 */
export async function storeUpload(
  shard: Shard,
  upload: Upload,
  origin: UploadOrigin,
  nowMs: UtcMs,
): Promise<StoreOutcome> {
  const contentHash = hashOf(upload);
  return shard.transaction(async (connection) => {
    const [before] = await query<{
      upload_id: number;
      row_count: number;
      revision: number;
      received_at_ms: number;
    }>(connection, 'upload/find_upload', { kind: upload.kind, content_hash: contentHash });
    if (before && !origin.again) {
      const { upload_id: uploadId, row_count: accepted, revision, received_at_ms: receivedAtMs } = before;
      return { kind: 'stored-before', uploadId, accepted, revision, receivedAtMs };
    }
    await loadIncoming(connection, upload);
    const problems = [
      ...(await findOtherKind(connection, upload.kind)),
      ...(await markChanges(connection, upload.kind)),
    ];
    if (problems.length > 0)
      return { kind: 'refused', problems: problems.slice(0, PROBLEMS_SHOWN_MAX), count: problems.length };
    const [next] = await query<{ upload_id: number }>(connection, 'upload/find_next_upload_id');
    const ids = { upload_id: next!.upload_id, now_ms: nowMs };
    const counts = await readCounts(connection);
    await replaceAndInsert(connection, upload.kind, ids);
    if (upload.kind !== 'budget')
      await query(connection, 'upload/mark_dirty_months', { upload_id: ids.upload_id });
    await query(connection, 'upload/store_upload', {
      ...ids,
      kind: upload.kind,
      name: origin.name,
      content_hash: contentHash,
      actor: origin.actor,
      row_count: counts.row_count,
      stored_count: counts.stored_count,
      revision: counts.revision,
    });
    return {
      kind: 'stored',
      uploadId: ids.upload_id,
      accepted: counts.row_count,
      stored: counts.stored_count,
      unchanged: counts.row_count - counts.stored_count,
      replaced: counts.replaced_count,
      revision: counts.revision,
    };
  });
}

/** A hash of the content, independent of the format of the file. */
function hashOf({ kind, rows }: Upload): string {
  const hash = createHash('sha256').update(kind);
  for (const { line: _, ...row } of rows) hash.update(`${JSON.stringify(row)}\n`);
  return hash.digest('hex');
}

async function loadIncoming(connection: DuckDBConnection, { kind, rows }: Upload): Promise<void> {
  await query(connection, 'upload/set_joins');
  await query(connection, 'upload/create_granularity');
  await query(connection, 'upload/create_incoming');
  await query(connection, 'upload/create_uploaded_time');
  const add = kind === 'budget' ? 'upload/take_budget_rows' : 'upload/take_meter_rows';
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    await query(connection, add, { rows: JSON.stringify(rows.slice(from, from + SLICE_ROWS)) });
  }
}

/** A meter with uploaded intervals and an uploaded register would count twice. */
async function findOtherKind(connection: DuckDBConnection, kind: UploadKind): Promise<LineProblem[]> {
  if (kind === 'budget') return [];
  const isRegister = kind === 'meter_registers';
  const found = await query<{ meter_code: string; line: number }>(connection, 'upload/find_other_kind', {
    is_register: isRegister,
  });
  return found.map(({ meter_code, line }) => ({
    line,
    message: isRegister
      ? `${meter_code} already has uploaded intervals; values of its register would count the same energy twice; use another meter for them`
      : `${meter_code} already has uploaded values of its register; intervals would count the same energy twice; use another meter for them`,
  }));
}

/** Conflicts that are read. Fewer are shown. */
const CONFLICTS_MAX = 1_000n;

/** Marks the incoming rows that are new or replace others. @returns the rows that would cut a current one */
async function markChanges(connection: DuckDBConnection, kind: UploadKind): Promise<LineProblem[]> {
  await query(connection, 'upload/create_current_row');
  await query(connection, statements[kind].current);
  await query(connection, 'upload/collect_same_places');
  await query(connection, 'upload/collect_overlaps');
  const cut = await query<{ line: number; start_ms: number; end_ms: number; received_at_ms: number }>(
    connection,
    'upload/find_conflicts',
    { rows_max: CONFLICTS_MAX },
  );
  await query(connection, 'upload/set_revisions');
  await query(connection, 'upload/collect_replaced');
  return cut.map(({ line, start_ms, end_ms, received_at_ms }) => {
    const [start, end] =
      kind === 'budget'
        ? [start_ms, end_ms - DAY_MS].map((dayMs) => formatInstant(dayMs).slice(0, 10))
        : [formatInstant(start_ms), formatInstant(end_ms)];
    return {
      line,
      message: `covers only a part of a period that was uploaded at ${formatInstant(received_at_ms)}, from ${start} to ${end}; upload the whole period, or leave the row out`,
    };
  });
}

interface Counts {
  row_count: number;
  stored_count: number;
  replaced_count: number;
  revision: number;
}

async function readCounts(connection: DuckDBConnection): Promise<Counts> {
  const [counts] = await query<{ [Name in keyof Counts]: number }>(connection, 'upload/count_upload');
  return counts!;
}

async function replaceAndInsert(
  connection: DuckDBConnection,
  kind: UploadKind,
  ids: { upload_id: number; now_ms: UtcMs },
): Promise<void> {
  const { upload_id } = ids;
  await query(connection, statements[kind].replace, { upload_id });
  switch (kind) {
    case 'meter_intervals':
      await query(connection, 'upload/store_readings', { ...ids, from_register: false });
      return;
    case 'budget':
      await query(connection, 'upload/store_budgets', ids);
      return;
    case 'meter_registers':
      await query(connection, 'upload/store_registers', { upload_id });
      await query(connection, 'upload/collect_register_intervals');
      await query(connection, 'upload/create_incoming');
      await query(connection, 'upload/take_register_intervals');
      await markChanges(connection, 'meter_intervals');
      await query(connection, 'upload/replace_readings', { upload_id });
      await query(connection, 'upload/store_readings', { ...ids, from_register: true });
      return;
    default:
      kind satisfies never;
  }
}
