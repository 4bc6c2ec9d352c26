import type { DuckDBConnection } from '@duckdb/node-api';
import { TerminalError } from '../lib/errors.ts';
import { HOUR_MS, type UtcMs } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryLiterally, queryText } from '../warehouse/query.ts';
import { type DeclaredStreams, readStageProgress } from '../warehouse/stage-progress.ts';
import type { Commit, LakeFile } from './commit-schema.ts';
import { computedDatasets, selectOf, wholeDatasets } from './datasets.ts';
import { findByDay } from './day-pieces.ts';
import { folderValue } from './lake-layout.ts';
import { isOver, type Period, type PeriodKind, periodBounds, periodOf, widen } from './lake-period.ts';
import { filesByPeriod, type Piece, window } from './lake-piece.ts';

/** Sorting a million messages of ten fields takes about a GB. */
const MESSAGES_A_FILE_MAX = 200_000;

/** The position and the identity of the warehouse. */
export interface WarehouseState {
  createdAtMs: number;
  batchId: bigint;
  rolledUpBatchId: bigint;
}

export async function readState(
  connection: DuckDBConnection,
  declared: DeclaredStreams,
): Promise<WarehouseState> {
  const [row] = await query<{
    created_at_ms: number;
    batch_id: string;
  }>(connection, 'publish/read_state');
  const { rolledUpBatchId } = await readStageProgress(connection, declared);
  return {
    createdAtMs: row!.created_at_ms,
    batchId: BigInt(row!.batch_id),
    rolledUpBatchId: BigInt(rolledUpBatchId),
  };
}

/**
 * All differences between the warehouse and the newest generation. Everything if there is no generation.
 * @param options.isDeclaredDataCurrent the generation has the declared datasets as they are now
 */
export async function findPieces(
  connection: DuckDBConnection,
  head: Commit | undefined,
  state: WarehouseState,
  { isDeclaredDataCurrent, nowMs }: { isDeclaredDataCurrent: boolean; nowMs: UtcMs },
): Promise<Piece[]> {
  const dirty = await query<{ dataset: string; partition: string }>(connection, 'publish/find_dirty');
  const dirtyPartitions = {
    interval_energy: new Set<Period>(),
    daily_energy: new Set<Period>(),
    daily_energy_version: new Set<Period>(),
    meter_reading: new Set<Period>(),
    device_status: new Set<Period>(),
    rejected_reading: new Set<Period>(),
    quarantine: new Set<string>(),
  };
  for (const { dataset, partition } of dirty) {
    if (!Object.hasOwn(dirtyPartitions, dataset)) {
      throw new TerminalError(
        'UnknownDataset',
        `dirty_partition names a dataset "${dataset}" that the lake does not have`,
      );
    }
    dirtyPartitions[dataset as keyof typeof dirtyPartitions].add(partition);
  }
  return [
    ...(await findMessages(connection, head, state, nowMs)),
    ...(await findByDay(connection, 'interval_energy', head, dirtyPartitions.interval_energy, nowMs)),
    ...(await findByDay(connection, 'device_status', head, dirtyPartitions.device_status, nowMs)),
    ...(await findByDay(connection, 'rejected_reading', head, dirtyPartitions.rejected_reading, nowMs)),
    ...(await findByMonth(connection, 'daily_energy', head, dirtyPartitions.daily_energy)),
    ...(await findByMonth(connection, 'daily_energy_version', head, dirtyPartitions.daily_energy_version)),
    ...(await findByMonth(connection, 'meter_reading', head, dirtyPartitions.meter_reading)),
    ...(await findQuarantine(connection, head, state, { isRewritten: dirtyPartitions.quarantine.size > 0 })),
    ...(await findWhole(connection, head, isDeclaredDataCurrent)),
  ];
}

type MessagePart = {
  table_id: number;
  table_name: string;
  hour_start_ms: number;
  after_batch_id: bigint;
  through_batch_id: bigint;
  row_count: number;
};

/**
 * New batches become new files: one for each table and hour of store time, more if there are many messages.
 * The hours of a day or a month that is over become one file if they have few messages, because each file
 * takes some 10 ms.
 */
async function findMessages(
  connection: DuckDBConnection,
  head: Commit | undefined,
  state: WarehouseState,
  nowMs: UtcMs,
): Promise<Piece[]> {
  const batchRange = { after_batch_id: BigInt(head?.batchId ?? -1), through_batch_id: state.batchId };
  if (batchRange.after_batch_id === batchRange.through_batch_id) return [];
  const parts = await queryLiterally<MessagePart>(connection, loadSql('publish/count_messages'), {
    ...batchRange,
    hour_ms: HOUR_MS,
    rows_max: MESSAGES_A_FILE_MAX,
  });
  const pieceOf = (period: Period, part: MessagePart): Piece => {
    const { table_id, table_name, after_batch_id, through_batch_id, row_count } = part;
    return {
      dataset: 'messages',
      folder: `table=${folderValue(table_name)}/hour=${period}`,
      period,
      parameters: { table_id, table_name, after_batch_id, through_batch_id, ...window(period) },
      rows: row_count,
      replaces: [],
    };
  };
  /**
   * The pieces of one table: a period that is over is one piece if it fits into a file. Else its shorter
   * periods are looked at.
   */
  const split = (own: readonly MessagePart[], [kind, ...shorter]: readonly PeriodKind[]): Piece[] => {
    const periods = Map.groupBy(own, ({ hour_start_ms }) => periodOf(hour_start_ms, kind!));
    return [...periods].flatMap(([period, inside]) => {
      if (shorter.length === 0) return inside.map((part) => pieceOf(period, part));
      const row_count = inside.reduce((sum, part) => sum + part.row_count, 0);
      if (row_count > MESSAGES_A_FILE_MAX || !isOver(period, nowMs)) return split(inside, shorter);
      return [pieceOf(period, { ...inside[0]!, ...batchRange, row_count })];
    });
  };
  const tables = Map.groupBy(parts, ({ table_id }) => table_id);
  return [...tables.values()].flatMap((own) => split(own, ['month', 'day', 'hour']));
}

/** Datasets by month, with the statements that list their months and count rows, and their parameters. */
const monthDatasets = {
  /** By local day. */
  daily_energy: {
    months: 'publish/find_daily_months',
    count: 'publish/count_days',
    parameters: localDays,
  },
  /** By local day. */
  daily_energy_version: {
    months: 'publish/find_version_months',
    count: 'publish/count_versions',
    parameters: localDays,
  },
  /** In UTC. */
  meter_reading: {
    months: 'publish/find_meter_reading_months',
    count: 'publish/count_meter_readings',
    parameters: window,
  },
} as const;

async function findByMonth(
  connection: DuckDBConnection,
  dataset: keyof typeof monthDatasets,
  head: Commit | undefined,
  marked: ReadonlySet<Period>,
): Promise<Piece[]> {
  const statements = monthDatasets[dataset];
  let months = new Set([...marked].map((period) => widen(period, 'month')));
  if (!head) {
    const found = await query<{ month: string }>(connection, statements.months);
    months = new Set(found.map(({ month }) => month));
  }
  const old = filesByPeriod(head, dataset);
  const pieces: Piece[] = [];
  for (const month of [...months].sort()) {
    const parameters = statements.parameters(month);
    const [size] = await queryLiterally<{ row_count: number; energy_wh?: number }>(
      connection,
      loadSql(statements.count),
      parameters,
    );
    pieces.push({
      dataset,
      folder: `month=${month}`,
      period: month,
      parameters,
      rows: size!.row_count,
      ...(size!.energy_wh !== undefined && { energyWh: size!.energy_wh }),
      replaces: old.get(month) ?? [],
    });
  }
  return pieces;
}

/**
 * Messages of new batches become new files by month of quarantine.
 * @param isRewritten true if messages left the quarantine, so all its files are written again
 */
async function findQuarantine(
  connection: DuckDBConnection,
  head: Commit | undefined,
  state: WarehouseState,
  { isRewritten }: { isRewritten: boolean },
): Promise<Piece[]> {
  const batchRange = {
    after_batch_id: isRewritten ? -1n : BigInt(head?.batchId ?? -1),
    through_batch_id: state.batchId,
  };
  if (batchRange.after_batch_id === batchRange.through_batch_id) return [];
  const countRows = await query<{ month: string; row_count: number }>(
    connection,
    'publish/count_quarantine',
    batchRange,
  );
  const old = isRewritten ? filesByPeriod(head, 'quarantine') : new Map<Period, LakeFile[]>();
  const counts = new Map(countRows.map(({ month, row_count }) => [month, row_count]));
  return [...new Set([...counts.keys(), ...old.keys()])].sort().map((month) => ({
    dataset: 'quarantine',
    folder: `month=${month}`,
    period: month,
    parameters: { ...batchRange, ...window(month) },
    rows: counts.get(month) ?? 0,
    replaces: old.get(month) ?? [],
  }));
}

/** Fingerprints of all small datasets in one statement, because most have not changed. */
async function findWhole(
  connection: DuckDBConnection,
  head: Commit | undefined,
  isDeclaredDataCurrent: boolean,
): Promise<Piece[]> {
  const datasets = isDeclaredDataCurrent ? computedDatasets : wholeDatasets;
  const looks = datasets.map(
    (dataset) =>
      `SELECT '${dataset}' AS dataset, count(*)::DOUBLE AS row_count, coalesce(bit_xor(hash(whole)), 0)::VARCHAR AS fingerprint FROM (${selectOf(dataset)}) AS whole`,
  );
  const datasetRows = await queryText<{
    dataset: (typeof wholeDatasets)[number];
    row_count: number;
    fingerprint: string;
  }>(connection, looks.join('\nUNION ALL\n'));
  return datasetRows.flatMap(({ dataset, row_count: rows, fingerprint }) => {
    const replaces = head?.files.filter((file) => file.dataset === dataset) ?? [];
    const old = replaces[0];
    if (rows === (old?.rows ?? 0) && (old === undefined || old.fingerprint === fingerprint)) return [];
    return [{ dataset, folder: '', period: '', parameters: {}, rows, fingerprint, replaces }];
  });
}

function localDays(month: Period): { start_day: string; end_day: string } {
  const { startMs, endMs } = periodBounds(month);
  return { start_day: periodOf(startMs, 'day'), end_day: periodOf(endMs, 'day') };
}
